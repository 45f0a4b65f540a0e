<?php

// A shop in plain PHP: the calls of its customers and its staff, and the webhook endpoint.

declare(strict_types=1);

require __DIR__ . '/src/settings.php';
spl_autoload_register(static fn (string $class) => require __DIR__ . '/src/' . ($class === 'Reply' ? 'Payments' : $class) . '.php');

ignore_user_abort(true); // what a customer began is ended
set_time_limit(0);

/** @return array{int, array<string, mixed>} */
function answer(string $method, string $path, string $body): array
{
    $books = new Books(setting('SHOP_DATA', 'data'));
    $shop = new Shop($books, new Payments($books));
    $input = Money::decode($body);
    $input = is_array($input) ? $input : [];
    $text = static fn (string $name): string => is_string($input[$name] ?? null) ? $input[$name] : throw new Refusal("send $name", 400);
    if (preg_match('#^/test/orders/([^/]+)(?:/(pay|retry|return|refunds))?$#D', $path, $match) === 1) {
        $id = rawurldecode($match[1]);
        $done = match ("$method " . ($match[2] ?? '')) {
            'GET ' => null,
            'POST pay', 'POST retry' => $shop->pay($id),
            'POST return' => $shop->customerReturns($id),
            'POST refunds' => $shop->refund($id, $text('id'), $text('amount')),
            default => throw new Refusal('there is no such page', 404),
        };

        return [200, $shop->view($id)];
    }
    switch ("$method $path") {
        case 'GET /health':
            break;
        case 'POST /webhooks/payments':
            $signature = $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? '';
            if (mistake('header-name-by-case')) {
                $signature = getallheaders()['X-Service-Signature'] ?? '';
            }
            (new Webhooks($books, $shop))->receive($signature, $body);
            break;
        case 'POST /test/orders':
            $shop->place($text('id'), $input['amount'] ?? null, $text('currency'));

            return [201, $shop->view($text('id'))];
        case 'POST /test/tick':
            $shop->backgroundJobs();
            break;
        case 'POST /test/reset':
            $books->reset();
            break;
        case 'POST /test/time':
            $books->remember('ahead', isset($input['now']) ? Shop::instant($input['now']) / 1e6 - microtime(true) : 0);
            break;
        default:
            throw new Refusal('there is no such page', 404);
    }

    return [200, ['status' => 'ok']];
}

try {
    [$status, $content] = answer($_SERVER['REQUEST_METHOD'], parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH) ?: '/', file_get_contents('php://input'));
} catch (Refusal $refusal) {
    [$status, $content] = [$refusal->getCode(), ['error' => $refusal->getMessage()]];
} catch (Throwable $error) {
    error_log((string) $error);
    [$status, $content] = [500, ['error' => 'the shop is out of order']];
}
http_response_code($status);
header('Content-Type: application/json');
echo json_encode($content, JSON_UNESCAPED_SLASHES);

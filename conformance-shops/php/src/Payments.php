<?php

declare(strict_types=1);

/**
 * What a call came to. ok: carried out. refused: it never will be. denied: our credentials or address are not accepted.
 * conflict: the key belongs to another request. later: not carried out, to be tried again. unknown: nobody can tell.
 */
final class Reply
{
    /** @param array<string, mixed> $data */
    public function __construct(
        public readonly string $kind,
        public readonly array $data = [],
        public readonly string $reason = '',
        public readonly ?float $wait = null,
    ) {
    }
}

/** The client of the payment service's API. */
final class Payments
{
    private const ATTEMPTS = 5;
    private const LONGEST_WAIT_SECONDS = 5; // a customer does not wait longer for a rate limit; a background job goes on

    public function __construct(private readonly Books $books)
    {
    }

    /** Makes one call, tried again with the same key and the same bytes while its outcome is open. */
    public function call(string $method, string $path, string $key = '', ?string $body = null): Reply
    {
        $reply = new Reply('later', reason: 'rate limited');
        $doubtful = false;
        $most = mistake('endless-retries') ? 12 : self::ATTEMPTS;
        for ($attempt = 0; $attempt < $most; ++$attempt) {
            $wait = $this->books->recall('limited_until') - $this->books->now();
            if ($wait > self::LONGEST_WAIT_SECONDS) {
                $reply = new Reply('later', reason: "rate limited for $wait s");
                break;
            }
            self::sleep($wait);
            $reply = $this->once($method, $path, $key, $body);
            if ($reply->wait !== null) {
                if (mistake('rate-limit-is-refusal')) {
                    return new Reply('refused', reason: 'rate limited');
                }
                $this->books->remember('limited_until', $this->books->now() + ($reply->wait > 0 ? $reply->wait : self::pause($attempt)));
                continue;
            }
            if ($reply->kind !== 'unknown' && !($reply->kind === 'refused' && mistake('retry-on-4xx'))) {
                break;
            }
            $doubtful = $doubtful || $reply->kind === 'unknown';
            if ($attempt + 1 < $most) {
                self::sleep(self::pause($attempt));
            }
        }
        if ($doubtful && in_array($reply->kind, ['denied', 'later'], true)) {
            return new Reply('unknown', reason: $reply->reason); // it says nothing about the tries before
        }

        return $reply;
    }

    private static function sleep(float $seconds): void
    {
        if ($seconds > 0) {
            usleep((int) ($seconds * 1e6));
        }
    }

    private static function pause(int $attempt): float
    {
        return (float) setting('SHOP_PAUSE_SCALE', '1') * 2 ** $attempt * random_int(750, 1250) / 1000;
    }

    private function once(string $method, string $path, string $key, ?string $body): Reply
    {
        $headers = ['Accept: application/json'];
        if ($body !== null) {
            $headers = [...$headers, 'Content-Type: application/json', "Idempotency-Key: $key"];
        }
        $received = [];
        $curl = curl_init(rtrim(setting('PAYMENTS_URL', 'http://127.0.0.1:8080/api/v1'), '/') . $path);
        curl_setopt_array($curl, [
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_POSTFIELDS => $body,
            CURLOPT_HTTPHEADER => $headers,
            CURLOPT_USERPWD => setting('PAYMENTS_KEY') . ':' . setting('PAYMENTS_SECRET'),
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_TIMEOUT_MS => (int) ((float) setting('SHOP_TIMEOUT', '10') * 1000),
            CURLOPT_HEADERFUNCTION => static function (CurlHandle $curl, string $line) use (&$received): int {
                [$name, $value] = [...explode(':', $line, 2), ''];
                $received[strtolower(trim($name))] = trim($value);

                return strlen($line);
            },
        ]);
        $content = curl_exec($curl);
        $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
        if ($content === false) {
            error_log("$method $path: no reply: " . curl_error($curl));

            return new Reply(mistake('timeout-is-refusal') ? 'refused' : 'unknown', reason: curl_error($curl));
        }

        $answer = Money::decode((string) $content);
        $answer = is_array($answer) ? $answer : [];
        $error = is_array($answer['error'] ?? null) ? $answer['error'] : [];
        $requestId = $received['x-request-id'] ?? $answer['request_id'] ?? $error['request_id'] ?? '';
        $code = is_string($error['code'] ?? null) ? $error['code'] : '';
        $reason = "$status $code";
        error_log("$method $path: $reason (request " . json_encode($requestId) . ')');

        if ($status === 429) {
            return new Reply('later', reason: $reason, wait: $this->secondsToReset($received['x-ratelimit-reset'] ?? ''));
        }
        if ($status >= 200 && $status < 300) {
            $sound = ($answer['success'] ?? null) === true && is_array($answer['data'] ?? null);

            return $sound ? new Reply('ok', $answer['data']) : new Reply('unknown', reason: 'a reply without success');
        }
        if (mistake('one-envelope')) {
            $kinds = ['INVALID_INPUT' => 'refused', 'VALIDATION_ERROR' => 'refused', 'IDEMPOTENCY_CONFLICT' => 'conflict'];

            return new Reply($kinds[$code] ?? 'unknown', reason: $reason);
        }

        return new Reply(match ($status) {
            400, 404, 422 => 'refused',
            401, 403 => 'denied',
            409 => 'conflict',
            default => 'unknown',
        }, reason: $reason);
    }

    /** The seconds until the limit is reset; the unit of the header is not documented, but can be told. */
    private function secondsToReset(string $header): float
    {
        if (!is_numeric($header) || mistake('rate-limit-not-awaited')) {
            return 0;
        }
        $value = (float) $header > 1e11 ? (float) $header / 1000 : (float) $header;

        return max($value > 1e9 ? $value - $this->books->now() : $value, 0);
    }

    /**
     * Returns all items of a list, page by page; null when they cannot be read now.
     *
     * @param array<string, string> $query
     * @return list<array<string, mixed>>|null
     */
    public function everything(string $path, array $query): ?array
    {
        $found = [];
        $query['limit'] = '100';
        do {
            $page = $this->call('GET', $path . '?' . http_build_query($query));
            if ($page->kind !== 'ok' || !is_array($page->data['items'] ?? null)) {
                return null;
            }
            $found = [...$found, ...array_filter($page->data['items'], 'is_array')];
            $query['cursor'] = $page->data['next_cursor'] ?? null;
        } while (is_string($query['cursor']) && $query['cursor'] !== '');

        return $found;
    }

    /** A random UUID, version 4. */
    public static function newKey(): string
    {
        $bytes = random_bytes(16);
        $bytes[6] = chr(ord($bytes[6]) & 0x0F | 0x40);
        $bytes[8] = chr(ord($bytes[8]) & 0x3F | 0x80);

        return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($bytes), 4));
    }
}

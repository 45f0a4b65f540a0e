<?php

declare(strict_types=1);

/** The webhook endpoint. */
final class Webhooks
{
    private const TOLERANCE_SECONDS = 300;

    public function __construct(private readonly Books $books, private readonly Shop $shop)
    {
    }

    /** Takes a delivery; what it throws is an answer that makes the service send it again. */
    public function receive(string $signature, string $body): void
    {
        $this->verify($signature, $body);
        $event = Money::decode($body);
        $data = is_array($event) ? $event['data']['object'] ?? null : null;
        if (!is_array($data) || !is_string($event['id'] ?? null) || !is_string($event['type'] ?? null)) {
            error_log('an event that cannot be read'); // it will not become readable: do not ask for it again

            return;
        }
        error_log("event {$event['id']} {$event['type']} (request " . ($event['request_id'] ?? '') . ')');
        if (($event['livemode'] ?? null) !== (setting('PAYMENTS_LIVEMODE') === 'true')) {
            return;
        }
        if (mistake('unknown-events-refused') && $this->isUnknown($event['type'], $data)) {
            throw new Refusal('an event of an unknown type or order', 404);
        }
        if (mistake('seen-after-work')) {
            $this->workThenRemember($event, $data);

            return;
        }
        $seen = mistake('dedup-by-type') ? ($data['payin_id'] ?? $data['id'] ?? '') . " {$event['type']}" : $event['id'];
        $this->books->transaction(function () use ($event, $data, $seen): void {
            if ($this->books->run('INSERT OR IGNORE INTO events VALUES (?)', $seen) === 1) {
                $this->apply($event, $data);
            }
        });
    }

    /** Throws a refusal unless the delivery is the service's. */
    private function verify(string $header, string $body): void
    {
        $times = $digests = [];
        foreach (explode(',', $header) as $part) {
            [$name, $value] = [...explode('=', trim($part), 2), ''];
            if ($name === 't') {
                $times[] = $value;
            } elseif ($name === 'v1') {
                $digests[] = $value; // two while the secret is rotated
            }
        }
        if (count($times) !== 1 || $digests === [] || preg_match('/^\d{1,12}$/D', $times[0]) !== 1) {
            throw new Refusal('the signature is missing or malformed', 400);
        }
        if (abs($this->books->now() - (int) $times[0]) > self::TOLERANCE_SECONDS && !mistake('timestamp-not-checked')) {
            throw new Refusal('the time of the signature is too far from now', 400);
        }
        if (mistake('non-ascii-dropped')) {
            $body = preg_replace('/[^\x20-\x7E]/', '', $body);
        }
        $expected = hash_hmac('sha256', "$times[0].$body", setting('WEBHOOK_SECRET'));
        foreach ($digests as $digest) {
            if (mistake('short-signature-accepted') ? strncmp($expected, $digest, strlen($digest)) === 0 : hash_equals($expected, $digest)) {
                return;
            }
        }
        throw new Refusal('the signature does not match', 401);
    }

    /**
     * Writes the event's effect, inside of a transaction.
     *
     * @param array<string, mixed> $event
     * @param array<string, mixed> $data
     */
    private function apply(array $event, array $data): void
    {
        $at = Shop::instant($event['created_at'] ?? null);
        [$family, $suffix] = [...explode('.', $event['type'], 2), ''];
        $sound = $suffix === ($data['status'] ?? null);
        match (true) {
            $family === 'pay-in' && $sound => $this->shop->applyPayin($data, $at, $event['id']),
            $family === 'refund' && $sound => $this->shop->applyRefund($data, $at),
            $family === 'dispute' => $this->shop->applyDispute($data, $at, $event['id']),
            default => error_log("event {$event['id']} {$event['type']} is not for us"),
        };
    }

    /**
     * Only for a mistake.
     *
     * @param array<string, mixed> $data
     */
    private function isUnknown(string $type, array $data): bool
    {
        $order = $data['external_identifier'] ?? null;
        $known = $this->books->row('SELECT 1 FROM orders WHERE id = ?', $order) !== null;

        return preg_match('/^(pay-in|refund|dispute)\./', $type) !== 1 || (str_starts_with($type, 'pay-in.') && !$known);
    }

    /**
     * Only for a mistake.
     *
     * @param array<string, mixed> $event
     * @param array<string, mixed> $data
     */
    private function workThenRemember(array $event, array $data): void
    {
        if ($this->books->row('SELECT 1 FROM events WHERE id = ?', $event['id']) !== null) {
            return;
        }
        $this->books->transaction(fn () => $this->apply($event, $data));
        usleep(100_000); // as long as a mail server takes to answer
        $this->books->run('INSERT OR IGNORE INTO events VALUES (?)', $event['id']);
    }
}

<?php

declare(strict_types=1);

/** Orders, and what the payment service says about them. */
final class Shop
{
    // A status never replaces one of a higher rank, in whatever order events and reads arrive.
    private const RANKS = [
        'payin' => ['created' => 0, 'pending' => 1, 'processing' => 2, 'succeeded' => 3, 'failed' => 3, 'cancelled' => 3],
        'refund' => ['created' => 0, 'processing' => 1, 'succeeded' => 2, 'failed' => 2],
        'dispute' => ['needs_response' => 0, 'under_review' => 1, 'won' => 2, 'lost' => 2, 'accepted' => 2],
    ];

    // The service remembers a key for 24 hours; the last hour is left for retries and clocks that differ.
    private const KEY_SECONDS = 23 * 3600;

    public function __construct(private readonly Books $books, private readonly Payments $payments)
    {
    }

    public function place(string $id, mixed $amount, string $currency): void
    {
        $minor = self::exactly($amount, $currency);
        $this->books->transaction(function () use ($id, $minor, $currency): void {
            $known = $this->books->row('SELECT amount, currency FROM orders WHERE id = ?', $id);
            if ($known !== null && $known !== ['amount' => $minor, 'currency' => $currency]) {
                throw new Refusal("order $id exists with another amount", 409);
            }
            $this->books->run('INSERT OR IGNORE INTO orders (id, amount, currency) VALUES (?, ?, ?)', $id, $minor, $currency);
        });
    }

    private static function exactly(mixed $amount, string $currency): int
    {
        try {
            return Money::parse($amount, $currency);
        } catch (InvalidArgumentException $error) {
            throw new Refusal($error->getMessage());
        }
    }

    /** @return array<string, mixed> */
    private function order(string $id): array
    {
        return $this->books->row('SELECT * FROM orders WHERE id = ?', $id) ?? throw new Refusal("there is no order $id", 404);
    }

    /** @return array<string, mixed>|null */
    private function lastAttempt(string $id): ?array
    {
        return $this->books->row('SELECT * FROM attempts WHERE order_id = ? ORDER BY number DESC LIMIT 1', $id);
    }

    private function isDisputed(string $id): bool
    {
        $query = "SELECT 1 FROM disputes WHERE order_id = ? AND status IN ('needs_response', 'under_review')";

        return $this->books->row($query, $id) !== null;
    }

    /** @return array<string, mixed> */
    public function view(string $id): array
    {
        return $this->books->transaction(function () use ($id): array {
            $order = $this->order($id);

            return [
                'id' => $id,
                'status' => $this->status($order),
                'shipped' => $order['shipped'],
                'paid' => Money::text($this->books->total($id), $order['currency']),
                'currency' => $order['currency'],
                'effects' => ['mails' => $order['mails']],
                'disputed' => $this->isDisputed($id),
                'review' => $order['review'],
                'payment_url' => $this->lastAttempt($id)['payment_url'] ?? null,
            ];
        });
    }

    /** @param array<string, mixed> $order */
    private function status(array $order): string
    {
        $received = $this->books->total($order['id'], 'payin');
        $refunded = -$this->books->total($order['id'], 'refund');
        if ($received > 0) {
            return match (true) {
                $this->books->total($order['id'], 'dispute') < 0 => 'charged_back',
                $refunded >= $received => 'refunded',
                $refunded > 0 => 'partly_refunded',
                default => 'paid',
            };
        }
        if ($order['review'] !== null) {
            return 'review';
        }
        $last = $this->lastAttempt($order['id']);
        if ($last === null) {
            return 'unpaid';
        }
        if ($last['state'] === 'refused' || $last['state'] === 'denied') {
            return 'failed';
        }
        $status = $this->books->row('SELECT status FROM payins WHERE id = ?', $last['payin'])['status'] ?? null;

        return in_array($status, ['failed', 'cancelled'], true) ? $status : 'pending';
    }

    // -------------------------------------------------------------------------------------------------------- deposits

    /** The customer wants to pay: go on with the attempt there is, or begin one when the last has failed for certain. */
    public function pay(string $id): void
    {
        $this->refresh($id);
        $number = $this->books->transaction(function () use ($id): ?int {
            $order = $this->order($id);
            $last = $this->lastAttempt($id);
            $status = $this->status($order);
            if ($last !== null && in_array($last['state'], ['open', 'denied'], true) && !mistake('new-deposit-per-click')) {
                $this->books->run("UPDATE attempts SET state = 'open' WHERE number = ?", $last['number']);

                return $last['number'];
            }
            $fresh = in_array($status, ['unpaid', 'failed', 'cancelled'], true);

            return $fresh || ($status === 'pending' && mistake('new-deposit-per-click')) ? $this->begin($order) : null;
        });
        if ($number !== null) {
            $this->sendDeposit($number);
        }
    }

    /**
     * Stores an attempt with its key and its bytes, before they are sent.
     *
     * @param array<string, mixed> $order
     */
    private function begin(array $order): int
    {
        $body = self::bodyWithAmount($order['amount'], $order['currency'], [
            'currency' => $order['currency'],
            'external_identifier' => $order['id'],
            'payment_method' => ['type' => 'CREDIT_CARD'],
            'customer' => ['first_name' => 'Zoë', 'last_name' => 'Müller', 'email' => 'zoe@example.test'],
        ]);
        $key = mistake('key-not-stored') ? null : Payments::newKey();
        $query = 'INSERT INTO attempts (order_id, key, key_made, body) VALUES (?, ?, ?, ?)';
        $this->books->run($query, $order['id'], $key, $this->books->now(), $body);

        return $this->books->lastId();
    }

    /**
     * Writes the amount as it is, since json_encode would make a float of it.
     *
     * @param array<string, mixed> $rest
     */
    private static function bodyWithAmount(int $minor, string $currency, array $rest): string
    {
        $amount = Money::text($minor, $currency);
        if (mistake('thousands-separator')) {
            $amount = number_format((float) $amount, Money::digits($currency));
        }

        return "{\"amount\": $amount, " . substr(json_encode($rest, JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR), 1);
    }

    private function sendDeposit(int $number): void
    {
        $attempt = $this->books->row("SELECT * FROM attempts WHERE number = ? AND state = 'open'", $number);
        if ($attempt === null) {
            return;
        }
        $key = $attempt['key'] ?? Payments::newKey();
        $now = $this->books->now();
        if ($now - $attempt['key_made'] >= self::KEY_SECONDS) {
            // The service may have forgotten the key, and would make a second deposit. So look first.
            $found = $this->depositsOf($attempt['order_id']);
            if ($found !== []) {
                $this->depositMade($number, $found[0] ?? null);

                return;
            }
            $key = Payments::newKey();
            $this->books->run('UPDATE attempts SET key = ?, key_made = ? WHERE number = ?', $key, $now, $number);
        }
        $reply = $this->payments->call('POST', '/pay-in/deposit-creation', $key, $attempt['body']);
        if ($reply->kind !== 'ok') {
            error_log("order {$attempt['order_id']}: $reply->kind: $reply->reason");
        }
        match ($reply->kind) {
            'ok' => $this->depositMade($number, $reply->data),
            // The key was used for something else, which is our fault. A new key could make a second deposit.
            'conflict' => $this->depositMade($number, $this->depositsOf($attempt['order_id'])[0] ?? null),
            // After "denied" there is nothing for a job to repeat; the next click uses the same key.
            'refused', 'denied' => $this->books->run("UPDATE attempts SET state = ? WHERE number = ? AND state = 'open'", $reply->kind, $number),
            default => null,
        };
    }

    /**
     * Returns the order's deposits at the service that belong to no other attempt, paid ones first; null when they
     * cannot be read.
     *
     * @return list<array<string, mixed>>|null
     */
    private function depositsOf(string $id): ?array
    {
        $found = $this->payments->everything('/pay-in', ['external_identifier' => $id]);
        if ($found === null) {
            return null;
        }
        $taken = array_column($this->books->rows('SELECT payin FROM attempts WHERE payin IS NOT NULL'), 'payin');
        $mine = static fn (array $item): bool => ($item['external_identifier'] ?? null) === $id && !in_array($item['id'] ?? null, $taken, true);
        $found = array_values(array_filter($found, $mine));
        usort($found, static fn (array $a, array $b): int => ($b['status'] === 'succeeded') <=> ($a['status'] === 'succeeded'));

        return $found;
    }

    /**
     * Notes which deposit came of an attempt, if it is for the same order and money.
     *
     * @param array<string, mixed>|null $data
     */
    private function depositMade(int $number, ?array $data): void
    {
        if ($data === null) {
            return;
        }
        $this->books->transaction(function () use ($number, $data): void {
            $attempt = $this->books->row('SELECT * FROM attempts WHERE number = ?', $number);
            $order = $attempt === null ? null : $this->order($attempt['order_id']);
            if ($order === null || ($data['external_identifier'] ?? null) !== $order['id'] || !self::isSameMoney($data, $order)) {
                error_log('the reply is about something else: ' . json_encode($data['id'] ?? null));

                return;
            }
            $query = "UPDATE attempts SET state = 'made', payin = ?, payment_url = ? WHERE number = ?";
            $this->books->run($query, $data['id'], $data['payment_url'] ?? null, $number);
            if (mistake('created-is-paid')) {
                $data['status'] = 'succeeded';
            }
            $this->applyPayin($data, self::instant($data['updated_at'] ?? null));
        });
    }

    /**
     * @param array<string, mixed> $data
     * @param array<string, mixed> $order
     */
    private static function isSameMoney(array $data, array $order): bool
    {
        try {
            $minor = Money::parse($data['amount'] ?? null, $order['currency']);
        } catch (InvalidArgumentException) {
            return false;
        }
        if (mistake('whole-units-compared')) {
            $unit = 10 ** Money::digits($order['currency']);

            return intdiv($minor, $unit) === intdiv($order['amount'], $unit);
        }

        return $minor === $order['amount'] && (($data['currency'] ?? null) === $order['currency'] || mistake('currency-not-checked'));
    }

    /** Microseconds since 1970; 0 for what is no time. */
    public static function instant(mixed $text): int
    {
        try {
            return (int) (new DateTimeImmutable((string) $text, new DateTimeZone('UTC')))->format('Uu');
        } catch (Exception) {
            return 0;
        }
    }

    // -------------------------------------------------------------------- what the service says, by an event or a read

    /**
     * Takes over a pay-in's status. Without an event it was read, and a read settles what events contradict.
     *
     * @param array<string, mixed> $data
     */
    public function applyPayin(array $data, int $at, ?string $event = null): void
    {
        $status = $data['status'] ?? '';
        $known = $this->books->row('SELECT * FROM payins WHERE id = ?', $data['id'] ?? null);
        $order = $this->books->row('SELECT * FROM orders WHERE id = ?', $known['order_id'] ?? $data['external_identifier'] ?? null);
        $rank = self::RANKS['payin'][$status] ?? null;
        if ($order === null || $rank === null) {
            error_log('a pay-in that is not for us: ' . json_encode([$data['id'] ?? null, $status]));

            return;
        }
        $again = $event !== null && mistake('seen-after-work') && $status === 'succeeded';
        if ($known !== null && !$again) {
            $before = self::RANKS['payin'][$known['status']];
            $newer = match (true) {
                $status === $known['status'] => false,
                $event !== null && mistake('last-arrival-wins') => true,
                $event !== null && mistake('twelve-hour-times') => self::twelveHours($at) > self::twelveHours($known['at']),
                $rank !== $before => $rank > $before,
                $event === null => true,
                default => $known['status'] !== 'succeeded' && $at > $known['at'], // such as late money
            };
            if (!$newer) {
                return;
            }
        }
        $query = 'INSERT INTO payins VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET status = excluded.status, at = excluded.at';
        $this->books->run($query, $data['id'], $order['id'], $status, $at);
        if ($status !== 'succeeded') {
            $this->books->run("DELETE FROM ledger WHERE kind = 'payin' AND reference = ?", $data['id']);
        } elseif (!self::isSameMoney($data, $order)) {
            $this->review($order['id'], json_encode(['brought', $data['id'], $data['amount'] ?? null, $data['currency'] ?? null]));
        } else {
            $this->book($order['id'], 'payin', $again ? bin2hex(random_bytes(8)) : $data['id'], $order['amount']);
            if ($order['shipped'] === 0 || $again) {
                $this->books->run('UPDATE orders SET shipped = shipped + 1, mails = mails + 1 WHERE id = ?', $order['id']);
            }
        }
    }

    private static function twelveHours(int $at): string
    {
        return gmdate('Y-m-d h:i:s', intdiv($at, 1_000_000)) . sprintf('.%06d', $at % 1_000_000);
    }

    private function book(string $order, string $kind, string $reference, int $minor): void
    {
        $this->books->run('INSERT OR IGNORE INTO ledger VALUES (?, ?, ?, ?)', $kind, $reference, $order, $minor);
    }

    /** Asks a person to look at the order. */
    private function review(string $order, string $reason): void
    {
        error_log("order $order: $reason");
        $this->books->run('UPDATE orders SET review = ? WHERE id = ?', $reason, $order);
    }

    /**
     * Finds the order of a refund or dispute, and reads the amount; null when it is not for us.
     *
     * @param array<string, mixed> $data
     * @return array{array<string, mixed>, int}|null
     */
    private function orderAndAmount(string $kind, array $data): ?array
    {
        $payin = $this->books->row('SELECT order_id FROM payins WHERE id = ?', $data['payin_id'] ?? null);
        if ($payin === null || !isset(self::RANKS[$kind][$data['status'] ?? ''], $data['id'])) {
            error_log("a $kind that is not for us: " . json_encode([$data['id'] ?? null, $data['status'] ?? null]));

            return null;
        }
        $order = $this->order($payin['order_id']);
        try {
            $minor = Money::parse($data['amount'] ?? null, $order['currency']);
        } catch (InvalidArgumentException $error) {
            $this->review($order['id'], "{$data['id']}: {$error->getMessage()}");

            return null;
        }
        if (($data['currency'] ?? null) !== $order['currency']) {
            $this->review($order['id'], "{$data['id']} has another currency");

            return null;
        }

        return [$order, $minor];
    }

    /**
     * Takes over a refund's status; the service may have made it without a request of ours.
     *
     * @param array<string, mixed> $data
     */
    public function applyRefund(array $data, int $at): void
    {
        [$order, $minor] = $this->orderAndAmount('refund', $data) ?? [null, 0];
        if ($order === null) {
            return;
        }
        $mine = 'SELECT * FROM refunds WHERE id = ? AND payin = ? AND remote IS NULL';
        $row = $this->books->row('SELECT * FROM refunds WHERE remote = ?', $data['id'])
            ?? $this->books->row($mine, $data['external_identifier'] ?? null, $data['payin_id']);
        if ($row === null) {
            if (mistake('foreign-refunds-ignored')) {
                return;
            }
            $row = ['id' => $data['id'], 'amount' => $minor, 'status' => 'created', 'at' => 0];
            $query = "INSERT INTO refunds (id, order_id, payin, amount, state) VALUES (?, ?, ?, ?, 'made')";
            $this->books->run($query, $data['id'], $order['id'], $data['payin_id'], $minor);
        }
        if ($row['amount'] !== $minor) {
            $this->review($order['id'], "{$data['id']} returned another amount than {$row['id']}");

            return;
        }
        $this->books->run("UPDATE refunds SET state = 'made', remote = ? WHERE id = ?", $data['id'], $row['id']);
        if ($this->isNewer('refund', $data['status'], $at, $row['status'], $row['at'])) {
            $this->books->run('UPDATE refunds SET status = ?, at = ? WHERE id = ?', $data['status'], $at, $row['id']);
            if ($data['status'] === 'succeeded' || mistake('refund-booked-at-request')) {
                $this->book($order['id'], 'refund', $data['id'], -$minor);
            } else { // it may have succeeded before: the payer's bank can return the money
                $this->books->run("DELETE FROM ledger WHERE kind = 'refund' AND reference = ?", $data['id']);
            }
        } elseif (mistake('refund-booked-at-request')) {
            $this->book($order['id'], 'refund', $data['id'], -$minor);
        }
    }

    /** Whether a status replaces the known one; among final ones the time decides, and a dispute can be reopened. */
    private function isNewer(string $kind, string $status, int $at, string $before, int $beforeAt): bool
    {
        $further = self::RANKS[$kind][$status] - self::RANKS[$kind][$before];
        if ($kind === 'dispute' && mistake('reopened-dispute-ignored')) {
            return $further > 0;
        }
        if ($further > 0 || ($further < 0 && $kind === 'refund')) {
            return $further > 0;
        }

        return $status !== $before && $at > $beforeAt;
    }

    /**
     * Takes over a dispute's status; the money is lost once, when it is decided.
     *
     * @param array<string, mixed> $data
     */
    public function applyDispute(array $data, int $at, ?string $event = null): void
    {
        [$order, $minor] = $this->orderAndAmount('dispute', $data) ?? [null, 0];
        if ($order === null) {
            return;
        }
        if ($event !== null && mistake('dispute-booked-per-event')) {
            $this->book($order['id'], 'dispute', $event, -$minor);
        }
        $known = $this->books->row('SELECT * FROM disputes WHERE id = ?', $data['id']);
        if ($known !== null && !$this->isNewer('dispute', $data['status'], $at, $known['status'], $known['at'])) {
            return;
        }
        $query = 'INSERT INTO disputes VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET status = excluded.status, at = excluded.at';
        $this->books->run($query, $data['id'], $order['id'], $data['status'], $at);
        if (mistake('dispute-booked-per-event')) {
            return;
        }
        if ($data['status'] === 'lost' || $data['status'] === 'accepted') {
            $this->book($order['id'], 'dispute', $data['id'], -$minor);
        } else {
            $this->books->run("DELETE FROM ledger WHERE kind = 'dispute' AND reference = ?", $data['id']);
        }
    }

    // --------------------------------------------------------------------------------------------------------- refunds

    public function refund(string $id, string $refundId, mixed $amount): void
    {
        $this->books->transaction(function () use ($id, $refundId, $amount): void {
            $order = $this->order($id);
            $minor = self::exactly($amount, $order['currency']);
            $known = $this->books->row('SELECT * FROM refunds WHERE id = ?', $refundId);
            if ($known !== null && ($known['order_id'] !== $id || $known['amount'] !== $minor)) {
                throw new Refusal("refund $refundId exists, and is another one", 409);
            }
            if ($known !== null) {
                $this->books->run("UPDATE refunds SET state = 'open' WHERE id = ? AND state = 'denied'", $refundId);

                return;
            }
            $payin = $this->refundable($order, $minor);
            $body = self::bodyWithAmount($minor, $order['currency'], ['payin_id' => $payin, 'external_identifier' => $refundId]);
            $query = 'INSERT INTO refunds (id, order_id, payin, amount, key, key_made, body, state)' . " VALUES (?, ?, ?, ?, ?, ?, ?, 'open')";
            $this->books->run($query, $refundId, $id, $payin, $minor, Payments::newKey(), $this->books->now(), $body);
        });
        $this->sendRefund($refundId);
        $state = $this->books->row('SELECT state FROM refunds WHERE id = ?', $refundId)['state'];
        if ($state === 'refused' || $state === 'denied') {
            throw new Refusal('the payment service refuses the refund');
        }
    }

    /**
     * Returns the pay-in from which so much can be refunded; what is requested already counts as gone.
     *
     * @param array<string, mixed> $order
     */
    private function refundable(array $order, int $minor): string
    {
        if ($this->isDisputed($order['id'])) {
            throw new Refusal('the payment is disputed: the money may go back that way', 409);
        }
        $query = "SELECT id, l.amount FROM payins JOIN ledger l ON kind = 'payin' AND reference = id WHERE payins.order_id = ? AND status = 'succeeded'";
        foreach ($this->books->rows($query, $order['id']) as $payin) {
            $active = "SELECT amount FROM refunds WHERE payin = ? AND state IN ('open', 'made') AND status != 'failed'";
            $gone = array_sum(array_column($this->books->rows($active, $payin['id']), 'amount'));
            if (mistake('refunds-not-summed')) {
                $gone = 0;
            }
            if ($minor <= $payin['amount'] - $gone + $this->books->total($order['id'], 'dispute')) {
                return $payin['id'];
            }
        }
        throw new Refusal('the order has not so much paid money left');
    }

    private function sendRefund(string $id): void
    {
        $open = "SELECT * FROM refunds WHERE id = ? AND state = 'open'";
        $row = $this->books->row($open, $id);
        if ($row === null) {
            return;
        }
        $now = $this->books->now();
        if ($now - $row['key_made'] >= self::KEY_SECONDS) {
            if (!$this->readRefunds($row['payin']) || $this->books->row($open, $id) === null) {
                return; // it cannot be read now, or it was in the list
            }
            $row['key'] = Payments::newKey();
            $this->books->run('UPDATE refunds SET key = ?, key_made = ? WHERE id = ?', $row['key'], $now, $id);
        }
        $reply = $this->payments->call('POST', '/refund/refund-creation', $row['key'], $row['body']);
        if ($reply->kind !== 'ok') {
            error_log("refund $id: $reply->kind: $reply->reason");
        }
        match ($reply->kind) {
            'ok' => $this->books->transaction(fn () => $this->applyRefund($reply->data, self::instant($reply->data['updated_at'] ?? null))),
            'conflict' => $this->readRefunds($row['payin']),
            'refused', 'denied' => $this->books->run("UPDATE refunds SET state = ? WHERE id = ? AND state = 'open'", $reply->kind, $id),
            default => null,
        };
    }

    private function readRefunds(string $payin): bool
    {
        $found = $this->payments->everything('/refund', ['payin_id' => $payin]);
        $this->books->transaction(function () use ($found): void {
            foreach ($found ?? [] as $data) {
                $this->applyRefund($data, self::instant($data['updated_at'] ?? null));
            }
        });

        return $found !== null;
    }

    // -------------------------------------------------------------------------------------------------- reconciliation

    /** Reads the order's pay-ins that brought no money so far. */
    public function refresh(string $id): void
    {
        foreach ($this->books->rows("SELECT id FROM payins WHERE order_id = ? AND status != 'succeeded'", $id) as $payin) {
            $reply = $this->payments->call('GET', "/pay-in/{$payin['id']}");
            if ($reply->kind === 'ok' && ($reply->data['id'] ?? null) === $payin['id']) {
                $at = self::instant($reply->data['updated_at'] ?? null);
                $this->books->transaction(fn () => $this->applyPayin($reply->data, $at));
            }
        }
    }

    /** The payer is back, which proves nothing by itself. */
    public function customerReturns(string $id): void
    {
        if (!mistake('trusts-return')) {
            $this->refresh($id);

            return;
        }
        $this->books->transaction(function () use ($id): void {
            $order = $this->order($id);
            $payin = $this->lastAttempt($id)['payin'] ?? null;
            if ($payin !== null) {
                $this->book($id, 'payin', $payin, $order['amount']);
                $this->books->run('UPDATE orders SET shipped = 1, mails = 1 WHERE id = ? AND shipped = 0', $id);
            }
        });
    }

    /** Goes on with what is open, and reads what an event may have failed to tell. */
    public function backgroundJobs(): void
    {
        if (!mistake('open-attempts-ignored')) {
            foreach ($this->books->rows("SELECT number FROM attempts WHERE state = 'open'") as $attempt) {
                $this->sendDeposit($attempt['number']);
            }
            foreach ($this->books->rows("SELECT id FROM refunds WHERE state = 'open'") as $refund) {
                $this->sendRefund($refund['id']);
            }
        }
        if (mistake('no-reconciliation')) {
            return;
        }
        foreach ($this->books->rows("SELECT number, order_id FROM attempts WHERE state = 'denied'") as $attempt) {
            // An earlier try may have come through after all.
            $this->depositMade($attempt['number'], $this->depositsOf($attempt['order_id'])[0] ?? null);
        }
        foreach ($this->books->rows('SELECT id FROM orders') as $order) {
            $this->refresh($order['id']);
        }
        foreach ($this->books->rows("SELECT id FROM payins WHERE status = 'succeeded'") as $payin) {
            $this->readRefunds($payin['id']);
            $found = $this->payments->everything('/dispute', ['payin_id' => $payin['id']]) ?? [];
            $this->books->transaction(function () use ($found): void {
                foreach ($found as $data) {
                    $this->applyDispute($data, self::instant($data['updated_at'] ?? null));
                }
            });
        }
    }
}

<?php

declare(strict_types=1);

/** The books: one SQLite file, in which all that belongs together is written in one transaction. */
final class Books
{
    private const SCHEMA = <<<'SQL'
        CREATE TABLE IF NOT EXISTS orders (
            id TEXT PRIMARY KEY, amount INTEGER NOT NULL, currency TEXT NOT NULL,
            shipped INTEGER NOT NULL DEFAULT 0, mails INTEGER NOT NULL DEFAULT 0, review TEXT);
        -- An attempt to create a deposit. state: open (not known whether it exists), made, refused, denied.
        CREATE TABLE IF NOT EXISTS attempts (
            number INTEGER PRIMARY KEY, order_id TEXT NOT NULL, key TEXT, key_made REAL NOT NULL, body TEXT NOT NULL,
            state TEXT NOT NULL DEFAULT 'open', payin TEXT, payment_url TEXT);
        CREATE TABLE IF NOT EXISTS payins (
            id TEXT PRIMARY KEY, order_id TEXT NOT NULL, status TEXT NOT NULL, at INTEGER NOT NULL);
        -- A refund has the state of its request, as an attempt has, and the status that the service gives it.
        CREATE TABLE IF NOT EXISTS refunds (
            id TEXT PRIMARY KEY, order_id TEXT NOT NULL, payin TEXT NOT NULL, amount INTEGER NOT NULL, key TEXT,
            key_made REAL, body TEXT, state TEXT NOT NULL, remote TEXT UNIQUE, status TEXT NOT NULL DEFAULT 'created',
            at INTEGER NOT NULL DEFAULT 0);
        CREATE TABLE IF NOT EXISTS disputes (
            id TEXT PRIMARY KEY, order_id TEXT NOT NULL, status TEXT NOT NULL, at INTEGER NOT NULL);
        CREATE TABLE IF NOT EXISTS ledger (
            kind TEXT NOT NULL, reference TEXT NOT NULL, order_id TEXT NOT NULL, amount INTEGER NOT NULL,
            PRIMARY KEY (kind, reference));
        CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY);
        CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value REAL NOT NULL);
        SQL;

    private PDO $pdo;

    public function __construct(string $folder)
    {
        if (!is_dir($folder)) {
            mkdir($folder, 0o755, true);
        }
        $new = !is_file("$folder/shop.sqlite");
        $this->pdo = new PDO("sqlite:$folder/shop.sqlite", options: [PDO::ATTR_TIMEOUT => 30]);
        if ($new) {
            $this->pdo->exec('PRAGMA journal_mode = WAL');
        }
        $this->pdo->exec('PRAGMA synchronous = FULL');
        $this->pdo->exec(self::SCHEMA);
    }

    /**
     * Does all of the work or nothing; when it returns, it is on the disk.
     *
     * @template T
     * @param callable(): T $work
     * @return T
     */
    public function transaction(callable $work): mixed
    {
        $this->pdo->exec('BEGIN IMMEDIATE');
        try {
            $result = $work();
            $this->pdo->exec('COMMIT');

            return $result;
        } catch (Throwable $error) {
            $this->pdo->exec('ROLLBACK');
            throw $error;
        }
    }

    /** Runs a statement, and returns how many rows it has changed. */
    public function run(string $query, mixed ...$values): int
    {
        $statement = $this->pdo->prepare($query);
        $statement->execute($values);

        return $statement->rowCount();
    }

    /** @return list<array<string, mixed>> */
    public function rows(string $query, mixed ...$values): array
    {
        $statement = $this->pdo->prepare($query);
        $statement->execute($values);

        return $statement->fetchAll(PDO::FETCH_ASSOC);
    }

    /** @return array<string, mixed>|null */
    public function row(string $query, mixed ...$values): ?array
    {
        return $this->rows($query, ...$values)[0] ?? null;
    }

    public function lastId(): int
    {
        return (int) $this->pdo->lastInsertId();
    }

    /** The sum of the order's entries of a kind, in minor units. */
    public function total(string $order, string $kind = '%'): int
    {
        $query = 'SELECT COALESCE(SUM(amount), 0) AS total FROM ledger WHERE order_id = ? AND kind LIKE ?';

        return (int) $this->row($query, $order, $kind)['total'];
    }

    public function remember(string $name, float $value): void
    {
        $this->run('INSERT OR REPLACE INTO settings VALUES (?, ?)', $name, $value);
    }

    public function recall(string $name): float
    {
        return (float) ($this->row('SELECT value FROM settings WHERE name = ?', $name)['value'] ?? 0);
    }

    /** The shop's time in seconds: the machine's, shifted if a test asked for that. */
    public function now(): float
    {
        return microtime(true) + $this->recall('ahead');
    }

    public function reset(): void
    {
        $this->transaction(function (): void {
            foreach (['orders', 'attempts', 'payins', 'refunds', 'disputes', 'ledger', 'events', 'settings'] as $table) {
                $this->run("DELETE FROM $table");
            }
        });
    }
}

<?php

declare(strict_types=1);

/** What the environment says; the empty text counts as not given. */
function setting(string $name, string $otherwise = ''): string
{
    $value = getenv($name);

    return $value === false || $value === '' ? $otherwise : $value;
}

/** Whether a mistake is switched on; mistakes.md describes them. */
function mistake(string $name): bool
{
    return in_array($name, array_map('trim', explode(',', setting('SHOP_MISTAKES'))), true);
}

/** What the shop does not do; the code is the HTTP status to answer. */
final class Refusal extends RuntimeException
{
    public function __construct(string $reason, int $status = 422)
    {
        parent::__construct($reason, $status);
    }
}

<?php

declare(strict_types=1);

/** Exact amounts of money: integers in the minor units of their currency. */
final class Money
{
    private const WITHOUT_DIGITS = ['BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'UYI', 'VND', 'VUV', 'XAF', 'XOF', 'XPF'];
    private const THREE_DIGITS = ['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND'];

    public static function digits(string $currency): int
    {
        if (in_array($currency, self::WITHOUT_DIGITS, true)) {
            return 0;
        }

        return in_array($currency, self::THREE_DIGITS, true) ? 3 : 2;
    }

    /**
     * Returns the amount in minor units.
     *
     * @throws InvalidArgumentException when the currency has no such amount
     */
    public static function parse(mixed $amount, string $currency): int
    {
        $places = self::digits($currency);
        if (mistake('float-cents')) {
            return (int) ((float) $amount * 10 ** $places);
        }
        if (!is_string($amount) || preg_match('/^(\d{1,15})(?:\.(\d+?)0*)?$/D', $amount, $match) !== 1) {
            throw new InvalidArgumentException('not an amount: ' . json_encode($amount));
        }
        $fraction = ($match[2] ?? '') === '0' ? '' : $match[2] ?? '';
        $minor = (int) ($match[1] . str_pad($fraction, $places, '0'));
        if (strlen($fraction) > $places || $minor <= 0) {
            throw new InvalidArgumentException("not an amount of $currency: $amount");
        }

        return $minor;
    }

    public static function text(int $minor, string $currency): string
    {
        $places = self::digits($currency);
        $figures = str_pad((string) abs($minor), $places + 1, '0', STR_PAD_LEFT);
        $text = $places === 0 ? $figures : substr($figures, 0, -$places) . '.' . substr($figures, -$places);

        return ($minor < 0 ? '-' : '') . $text;
    }

    /** Like json_decode, but each number becomes the text that it is written as, since a float would lose digits. */
    public static function decode(string $json): mixed
    {
        $quoted = preg_replace_callback(
            '/"(?:[^"\\\\]|\\\\.)*+"|-?\d[\d.eE+-]*+/',
            static fn (array $token): string => $token[0][0] === '"' ? $token[0] : '"' . $token[0] . '"',
            $json,
        );

        return $quoted === null ? null : json_decode($quoted, true);
    }
}

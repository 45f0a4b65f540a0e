package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Money is an exact amount in the minor units of a currency.
type Money int64

var minorDigits = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0,
	"UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
}

func digits(currency string) int {
	if places, ok := minorDigits[currency]; ok {
		return places
	}
	return 2
}

// parseMoney reads an amount as it is written; it fails when the currency has no such amount.
func parseMoney(amount, currency string) (Money, error) {
	places := digits(currency)
	if mistake("float-cents") {
		value, err := strconv.ParseFloat(amount, 64)
		return Money(value * math.Pow10(places)), err
	}
	whole, fraction, _ := strings.Cut(amount, ".")
	for len(fraction) > places && strings.HasSuffix(fraction, "0") {
		fraction = fraction[:len(fraction)-1]
	}
	if len(fraction) > places || strings.ContainsAny(amount, "+-_") {
		return 0, fmt.Errorf("not an amount of %s: %q", currency, amount)
	}
	minor, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", places-len(fraction)), 10, 64)
	if err != nil || minor <= 0 {
		return 0, fmt.Errorf("not a positive amount of %s: %q", currency, amount)
	}
	return Money(minor), nil
}

func (m Money) text(currency string) string {
	places := digits(currency)
	if places == 0 {
		return strconv.FormatInt(int64(m), 10)
	}
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	figures := fmt.Sprintf("%0*d", places+1, int64(m))
	return sign + figures[:len(figures)-places] + "." + figures[len(figures)-places:]
}

package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// What the environment says.
var (
	port          = setting("PORT", "3000")
	dataFolder    = setting("SHOP_DATA", "data")
	apiURL        = strings.TrimRight(setting("PAYMENTS_URL", "http://127.0.0.1:8080/api/v1"), "/")
	apiKey        = setting("PAYMENTS_KEY", "")
	apiSecret     = setting("PAYMENTS_SECRET", "")
	webhookSecret = []byte(setting("WEBHOOK_SECRET", ""))
	livemode      = setting("PAYMENTS_LIVEMODE", "false") == "true"
	pauseScale    = number("SHOP_PAUSE_SCALE", 1)
	callTimeout   = time.Duration(number("SHOP_TIMEOUT", 10) * float64(time.Second))
	mistakes      = "," + strings.ReplaceAll(setting("SHOP_MISTAKES", ""), " ", "") + ","
)

// mistake reports whether a mistake is switched on; mistakes.md describes them.
func mistake(name string) bool { return strings.Contains(mistakes, ","+name+",") }

func setting(name, otherwise string) string {
	if value, ok := os.LookupEnv(name); ok {
		return value
	}
	return otherwise
}

func number(name string, otherwise float64) float64 {
	if value, err := strconv.ParseFloat(setting(name, ""), 64); err == nil {
		return value
	}
	return otherwise
}

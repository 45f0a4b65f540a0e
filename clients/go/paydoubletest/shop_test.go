package paydoubletest_test

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/paydouble/paydouble/clients/go/paydoubletest"
)

// A new connection for each request: on a kept one Go itself would repeat a request whose reply was lost.
var client = http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// pay makes a deposit for an order as the code under test would, and returns the status of the answer.
func pay(box *paydoubletest.Sandbox, order, key string) (int, error) {
	body := fmt.Sprintf(`{"amount": 49.90, "currency": "EUR", "external_identifier": %q,
		"payment_method": {"type": "CREDIT_CARD"},
		"customer": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"}}`, order)
	request, err := http.NewRequest("POST", box.BaseURL+"/pay-in/deposit-creation", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.SetBasicAuth(box.BusinessKey, box.BusinessSecret)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", key)
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

const (
	keyOne = "5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d"
	keyTwo = "0d9b8e2f-3c14-4d5a-8f6b-7a1c2e3d4f50"
)

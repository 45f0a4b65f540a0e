// A fault armed, and met, with the clients that oapi-codegen makes.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"clients/api"
	"clients/control"

	"github.com/google/uuid"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(good bool, what string) {
	if !good {
		panic(what)
	}
}

func main() {
	server, id := os.Args[1], os.Args[2]
	ctx := context.Background()
	steering := must(control.NewClientWithResponses(server))
	seed := int64(7)
	clock := control.CreateSandbox_Clock{}
	check(clock.FromCreateSandboxClock0(control.CreateSandboxClock0Manual) == nil, "no clock")
	created := must(steering.SandboxCreateWithResponse(ctx, control.CreateSandbox{Id: &id, Seed: &seed, Clock: &clock}))
	check(created.JSON201 != nil, string(created.Body))

	once, operation := 1, "deposit-creation"
	effect := control.ApiEffect{}
	check(effect.FromError(control.Error{Status: 503}) == nil, "no effect")
	fault := control.NewFault{}
	check(fault.FromApiFault(control.ApiFault{
		Effect: effect,
		Match:  &control.ApiMatch{Operation: &operation},
		Times:  &once,
	}) == nil, "no fault")
	armed := must(steering.FaultAddWithResponse(ctx, id, fault))
	check(armed.JSON201 != nil && armed.JSON201.Effect.Type == "error", string(armed.Body))

	basic := func(_ context.Context, request *http.Request) error {
		request.SetBasicAuth(created.JSON201.BusinessKey, created.JSON201.BusinessSecret)
		return nil
	}
	business := must(api.NewClientWithResponses(server, api.WithRequestEditorFn(basic)))
	amount := 131072.99
	key := &api.DepositCreationParams{IdempotencyKey: uuid.New()}
	for attempt := 0; attempt < 2; attempt++ {
		answer := must(business.DepositCreationWithResponse(ctx, key, api.DepositRequest{
			Amount:             amount,
			Currency:           "EUR",
			ExternalIdentifier: "order-17",
			PaymentMethod:      api.PaymentMethodChoice{Type: "CREDIT_CARD"},
			Customer:           api.CustomerInput{FirstName: "Ada", LastName: "Lovelace", Email: "ada@example.test"},
		}))
		fmt.Print(answer.StatusCode(), " ")
		check(attempt == 0 || answer.JSON200 != nil && answer.JSON200.Data.Amount == amount, string(answer.Body))
	}
	twice, wanted := int64(2), map[string]interface{}{"amount": amount}
	asked := must(steering.RequestVerifyWithResponse(ctx, id, control.RequestQuestion{
		Match: &control.RequestMatch{Body: &wanted},
		Count: &twice,
	}))
	check(asked.JSON200 != nil && asked.JSON200.Passed, string(asked.Body))
	fmt.Println()
}

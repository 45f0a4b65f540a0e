package paydoubletest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/paydouble/paydouble/clients/go/paydoubletest"
)

// t stands for the t of a test, which an example does not have.
var t = &exampleT{&recorder{}}

func ExampleNew() {
	box := paydoubletest.New(t, paydoubletest.WithSeed(7))

	_, _ = pay(box, "order-17", "5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d") // the code under test

	fmt.Println(box.Requests.Verify(t, paydoubletest.ExternalIdentifier("order-17"), paydoubletest.Count(1)))
	// Output: 1
}

func ExampleFaults_ConnectionReset() {
	box := paydoubletest.New(t)
	fault := box.Faults.ConnectionReset(
		paydoubletest.Operation("deposit-creation"), paydoubletest.AfterCommit, paydoubletest.Times(1))

	_, err := pay(box, "order-17", "5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d")

	fmt.Println("the reply is lost:", err != nil)
	fmt.Println("it was carried out:", box.Requests.Last().Idempotency.Verdict == paydoubletest.VerdictNew)
	fmt.Println("the fault has fired:", box.Faults.Get(fault.ID).TimesFired)
	// Output:
	// the reply is lost: true
	// it was carried out: true
	// the fault has fired: 1
}

func ExampleFaults_Add() {
	box := paydoubletest.New(t)
	box.Faults.Add("error", paydoubletest.Attribute("status", 503), paydoubletest.Skip(1), paydoubletest.Times(1))

	for range 3 {
		fmt.Println(pay(box, "order-17", "5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d"))
	}
	// Output:
	// 200 <nil>
	// 503 <nil>
	// 200 <nil>
}

func ExampleSandbox_Advance() {
	box := paydoubletest.New(t)
	receiver := box.Receive()
	_, _ = pay(box, "order-17", "5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d")

	box.Advance(72 * time.Hour) // returns when all webhooks have been delivered

	fmt.Println(receiver.Types())
	// Output: [pay-in.created pay-in.pending pay-in.processing pay-in.succeeded]
}

func ExampleSandbox_SetRateLimit() {
	box := paydoubletest.New(t)
	box.SetRateLimit(paydoubletest.RateLimit{Limit: 1, Window: time.Minute, Clock: "sandbox_clock"})

	fmt.Println(pay(box, "order-17", "5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d"))
	fmt.Println(pay(box, "order-18", "0d9b8e2f-3c14-4d5a-8f6b-7a1c2e3d4f50"))
	box.Advance(time.Minute)
	fmt.Println(pay(box, "order-18", "0d9b8e2f-3c14-4d5a-8f6b-7a1c2e3d4f50"))
	// Output:
	// 200 <nil>
	// 429 <nil>
	// 200 <nil>
}

func ExampleSandbox_Fork() {
	world := paydoubletest.New(t)
	_, _ = pay(world, "order-17", "5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d") // what all tests need, once

	fork := world.Fork(t)
	fork.Advance(time.Hour)

	fmt.Println(world.PayIns.List()[0].Status, fork.PayIns.List()[0].Status)
	// Output: created succeeded
}

func ExampleSandbox_Payer() {
	box := paydoubletest.New(t)
	payIn := box.Scenarios.Play("payer-decides", nil)
	box.Advance(time.Minute)

	fmt.Println(box.Payer(payIn.ID).Decline("card_declined").Status)
	// Output: failed
}

func ExampleSandbox_Call() {
	box := paydoubletest.New(t)

	var clock struct{ Mode string }
	err := box.Call(context.Background(), "GET", "/clock", nil, &clock)
	fmt.Println(clock.Mode, err)

	var refused *paydoubletest.ControlError
	err = box.Call(context.Background(), "GET", "/events/nothing", nil, nil)
	fmt.Println(errors.As(err, &refused), refused.Status)
	// Output:
	// manual <nil>
	// true 404
}

func ExampleScenarios_Play() {
	box := paydoubletest.New(t)
	payIn := box.Scenarios.Play("card-declined", paydoubletest.Document{"amount": paydoubletest.Amount("12.50")})
	box.AdvanceUntilIdle()

	fmt.Println(box.PayIns.Get(payIn.ID).Status, payIn.Amount("amount"))
	// Output: failed 12.50
}

func ExamplePayIns() {
	box := paydoubletest.New(t)
	payIn := box.Scenarios.Play("happy-path", nil)
	box.AdvanceUntilIdle()

	dispute := box.PayIns.Dispute(payIn.ID, paydoubletest.DisputeAmount("1.00"))

	fmt.Println(dispute.Object, box.PayIns.Get(payIn.ID).Amount("disputed_amount"))
	refund := box.PayIns.Refund(payIn.ID, paydoubletest.RefundAmount("2.50"), paydoubletest.Reason("damaged"))
	fmt.Println(refund.Object, box.PayIns.Get(payIn.ID).Amount("refund_pending_amount"))
	// Output:
	// dispute 1.00
	// refund 2.50
}

func ExampleSequence() {
	box := paydoubletest.New(t)
	for range 2 {
		_, _ = pay(box, "order-17", "5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d")
	}

	box.Requests.Verify(t, paydoubletest.Sequence(
		paydoubletest.Step{paydoubletest.ExternalIdentifier("order-17"), paydoubletest.VerdictNew},
		paydoubletest.Step{paydoubletest.ExternalIdentifier("order-17"), paydoubletest.VerdictReplay},
	))
	fmt.Println(t.Failed())
	// Output: false
}

func ExampleReceiver_FailNext() {
	box := paydoubletest.New(t)
	receiver := box.Receive()
	receiver.FailNext(1, http.StatusServiceUnavailable)

	box.Webhook.Test("pay-in.succeeded")
	for _, received := range receiver.Wait(t, 1) {
		fmt.Println(received.Type, received.Status)
	}
	// Output: pay-in.succeeded 503
}

func ExampleForwardTo() {
	box := paydoubletest.New(t)
	endpoint := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // of the code under test
		w.WriteHeader(http.StatusNoContent)
	})
	receiver := box.Receive(paydoubletest.ForwardTo(endpoint))

	box.Webhook.Test("pay-in.succeeded")

	fmt.Println(receiver.Wait(t, 1)[0].Status)
	// Output: 204
}

func ExampleVerifySignature() {
	now := time.Unix(1767225600, 0)
	body := []byte(`{"id":"evt_1"}`)
	header := paydoubletest.Sign(body, "whsec_sandbox", now)

	fmt.Println(paydoubletest.VerifySignature(body, header, "whsec_sandbox", now))
	fmt.Println(paydoubletest.VerifySignature(body, header, "whsec_sandbox", now.Add(time.Hour)))
	fmt.Println(paydoubletest.VerifySignature([]byte("{}"), header, "whsec_sandbox", now))
	// Output:
	// <nil>
	// the time of the signature is out of tolerance: it differs from now by 3600 s
	// the signature does not fit the body and the secret; check that the body has the bytes as they came, and that the secret is the webhook secret of the sandbox
}

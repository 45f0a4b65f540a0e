package shop

import (
	"net/http"
	"testing"
	"time"

	"github.com/paydouble/paydouble/clients/go/paydoubletest"
)

var (
	order17 = Order{ID: "order-17", Key: "5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d", Amount: "49.90"}
	order18 = Order{ID: "order-18", Key: "0d9b8e2f-3c14-4d5a-8f6b-7a1c2e3d4f50", Amount: "5.00"}
)

// open returns a shop that is a customer of the sandbox. When the shop waits, the sandbox's time passes.
func open(box *paydoubletest.Sandbox) *Shop {
	return &Shop{
		URL:           box.BaseURL,
		Key:           box.BusinessKey,
		Secret:        box.BusinessSecret,
		WebhookSecret: box.WebhookSecret,
		Sleep:         func(d time.Duration) { box.Advance(d) },
	}
}

func TestALostReplyIsNotChargedTwice(t *testing.T) {
	t.Parallel()
	box := paydoubletest.New(t, paydoubletest.WithSeed(7))
	box.Faults.ConnectionReset(paydoubletest.Operation("deposit-creation"), paydoubletest.AfterCommit, paydoubletest.Times(1))

	if err := open(box).Pay(order17); err != nil {
		t.Fatal(err)
	}

	box.Requests.Verify(t, paydoubletest.ExternalIdentifier("order-17"), paydoubletest.VerdictReplay, paydoubletest.AtLeast(1))
	box.Requests.Verify(t, paydoubletest.ExternalIdentifier("order-17"), paydoubletest.VerdictNew, paydoubletest.Count(1))
}

func TestADuplicateIsBookedOnce(t *testing.T) {
	t.Parallel()
	box := paydoubletest.New(t)
	shop := open(box)
	receiver := box.Receive(paydoubletest.ForwardTo(shop))
	box.Faults.Duplicate(2, paydoubletest.EventType("pay-in.succeeded"))

	if err := shop.Pay(order17); err != nil {
		t.Fatal(err)
	}
	box.Advance(time.Minute)

	if paid := shop.Order("order-17").Paid; paid != 1 || len(receiver.Received()) != 6 {
		t.Errorf("booked %d times, after %v", paid, receiver.Types())
	}
}

func TestTwoDaysOfDowntimeLoseNothing(t *testing.T) {
	t.Parallel()
	box := paydoubletest.New(t)
	shop := open(box)
	receiver := box.Receive(paydoubletest.ForwardTo(shop))
	receiver.Down()
	if err := shop.Pay(order17); err != nil {
		t.Fatal(err)
	}
	box.Advance(48 * time.Hour)
	receiver.Up()
	box.Advance(24 * time.Hour) // the 72 hours are over
	if order := shop.Order("order-17"); order.Status != "succeeded" {
		t.Errorf("the order is %+v", order)
	}
}

func TestARateLimitIsWaitedFor(t *testing.T) {
	t.Parallel()
	box := paydoubletest.New(t)
	box.SetRateLimit(paydoubletest.RateLimit{Limit: 1, ResetUnit: "delta_seconds", Clock: "sandbox_clock"})
	shop := open(box)
	for _, order := range []Order{order17, order18} {
		if err := shop.Pay(order); err != nil {
			t.Error(err)
		}
	}
	box.Requests.Verify(t, paydoubletest.Status(http.StatusTooManyRequests), paydoubletest.Count(1))
	box.Requests.Verify(t, paydoubletest.ExternalIdentifier("order-18"), paydoubletest.VerdictNew, paydoubletest.Count(1))
}

// Package paydoubletest tests code that talks to a payment service.
//
// The service is played by paydouble, a server. [New] makes a [Sandbox] of it for one test: a business with its own
// credentials, clock, faults and journals. It is deleted when the test ends, and a failed test logs its timeline: every
// request, event and delivery attempt.
//
//	func TestALostReplyIsNotChargedTwice(t *testing.T) {
//		box := paydoubletest.New(t, paydoubletest.WithSeed(7))
//		box.Faults.ConnectionReset(paydoubletest.Operation("deposit-creation"), paydoubletest.AfterCommit, paydoubletest.Times(1))
//
//		shop := NewShop(box.BaseURL, box.BusinessKey, box.BusinessSecret) // your own code
//		shop.Pay("order-17")
//
//		box.Requests.Verify(t, paydoubletest.ExternalIdentifier("order-17"), paydoubletest.VerdictNew, paydoubletest.Count(1))
//	}
//
// # The server
//
// It is found in this order:
//
//   - the option [WithServer];
//   - the environment variable PAYDOUBLE_URL, with PAYDOUBLE_CONTROL_TOKEN if the server wants one, and
//     PAYDOUBLE_RECEIVER_HOST if it is in a container and reaches this machine by a name;
//   - the option [WithStarter], with which the module paydoublecontainer runs a container;
//   - the command paydouble on the PATH, which then runs until the test binary ends.
//
// # Time
//
// A sandbox has a manual clock: its time moves only when a test calls [Sandbox.Advance], which returns when everything
// that became due has been done, deliveries of webhooks included. So tests need no sleep.
//
// # Errors
//
// A method that fails ends the test, as t.Fatal does, so it must be called from the goroutine of the test. The methods
// that take a context return an error instead. Sandboxes do not meet, so tests can call t.Parallel.
package paydoubletest

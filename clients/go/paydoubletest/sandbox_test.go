package paydoubletest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	pd "github.com/paydouble/paydouble/clients/go/paydoubletest"
)

var happyPath = []string{"pay-in.created", "pay-in.pending", "pay-in.processing", "pay-in.succeeded"}

func TestALostReplyIsReplayed(t *testing.T) {
	t.Parallel()
	box := pd.New(t, pd.WithSeed(7))
	fault := box.Faults.ConnectionReset(pd.Operation("deposit-creation"), pd.AfterCommit, pd.Times(1))

	if status, err := pay(box, "order-17", keyOne); err == nil {
		t.Errorf("the reply was not lost: %d", status)
	}
	if status, err := pay(box, "order-17", keyOne); err != nil || status != http.StatusOK {
		t.Errorf("the retry got %d, %v", status, err)
	}

	if count := box.Requests.Verify(t, pd.Operation("deposit-creation"), pd.Count(2)); count != 2 {
		t.Errorf("Verify returned %d", count)
	}
	box.Requests.Verify(t, pd.Sequence(
		pd.Step{pd.ExternalIdentifier("order-17"), pd.VerdictNew},
		pd.Step{pd.ExternalIdentifier("order-17"), pd.VerdictReplay},
	))
	if fired := box.Faults.Get(fault.ID).TimesFired; fired != 1 {
		t.Errorf("the fault fired %d times", fired)
	}
	if amount := box.PayIns.List()[0].Amount("amount"); amount != "49.90" {
		t.Errorf("the amount is %s", amount)
	}
}

func TestAReceiverThatIsDownGetsItsWebhooksLater(t *testing.T) {
	t.Parallel()
	box := pd.New(t)
	receiver := box.Receive()
	receiver.Down()
	mustPay(t, box, "order-1")

	box.Advance(50 * time.Hour)
	if received := receiver.Received(); len(received) != 0 {
		t.Fatalf("a receiver that is down got %v", received)
	}
	receiver.Up()
	box.Advance(22 * time.Hour)

	got := receiver.Types()
	slices.Sort(got)
	if !slices.Equal(got, happyPath) {
		t.Errorf("it got %v", got)
	}
	box.Deliveries.Verify(t, pd.Delivered, pd.Count(4))
}

func TestAReceiverFailsSoOften(t *testing.T) {
	t.Parallel()
	box := pd.New(t)
	receiver := box.Receive()
	receiver.FailNext(2, http.StatusServiceUnavailable)
	mustPay(t, box, "order-1")

	box.AdvanceUntilIdle()

	var statuses []int
	for _, each := range receiver.Received() {
		if each.Type == "pay-in.created" {
			statuses = append(statuses, each.Status)
		}
	}
	if !slices.Equal(statuses, []int{503, 503, 200}) && !slices.Equal(statuses, []int{503, 200}) {
		t.Errorf("pay-in.created was answered %v", statuses)
	}
	receiver.WaitFor(t, func(received []pd.Received) bool { return len(received) == 6 }, pd.Within(time.Minute))
}

func TestAReceiverKnowsDuplicatesAndForgeries(t *testing.T) {
	t.Parallel()
	box := pd.New(t)
	receiver := box.Receive()
	box.Faults.Duplicate(1, pd.EventType("pay-in.created"))
	box.Faults.Signature("wrong_secret", pd.EventType("pay-in.pending"), pd.Attempt(1))
	mustPay(t, box, "order-1")
	box.Advance(time.Minute)

	var created, refused []pd.Received
	for _, each := range receiver.Received() {
		switch {
		case each.Err != nil:
			refused = append(refused, each)
		case each.Type == "pay-in.created":
			created = append(created, each)
		}
	}
	if len(created) != 2 || created[0].Duplicate || !created[1].Duplicate || created[1].Attempt != 2 {
		t.Errorf("pay-in.created came as %+v", created)
	}
	if len(refused) != 1 || !errors.Is(refused[0].Err, pd.ErrSignatureMismatch) || refused[0].Status != 401 {
		t.Errorf("refused were %+v", refused)
	}
}

func TestAReceiverForwardsToAHandler(t *testing.T) {
	t.Parallel()
	box := pd.New(t)
	var bodies []string
	receiver := box.Receive(pd.ForwardTo(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		w.WriteHeader(http.StatusAccepted)
	})))
	box.Webhook.Test("pay-in.succeeded")

	got := receiver.Wait(t, 1, pd.Within(time.Minute))[0]

	if got.Status != http.StatusAccepted || len(bodies) != 1 || bodies[0] != string(got.Body) {
		t.Errorf("it got %+v, and the handler %v", got, bodies)
	}
}

func TestASlowReceiverIsWaitedFor(t *testing.T) {
	t.Parallel()
	box := pd.New(t, pd.WithSettings(pd.Document{"webhooks": pd.Document{"timeout": "100ms"}}))
	receiver := box.Receive()
	receiver.Slow(300 * time.Millisecond)
	mustPay(t, box, "order-1")

	attempt := firstAttempt(t, box)

	if attempt.Error == nil || attempt.Error.Kind != "timeout" {
		t.Errorf("the attempt is %+v", attempt)
	}
}

func firstAttempt(t *testing.T, box *pd.Sandbox) pd.DeliveryAttempt {
	t.Helper()
	box.Deliveries.Wait(t, pd.AttemptCount(1), pd.Within(time.Minute))
	box.Advance(0)
	return box.Deliveries.List(pd.EventType("pay-in.created"))[0].Attempts[0]
}

func TestSecretsRotate(t *testing.T) {
	t.Parallel()
	box := pd.New(t)
	receiver := box.Receive()
	state := box.Webhook.RotateSecret(24 * time.Hour)
	box.Webhook.Test("pay-in.created") // both secrets sign
	receiver.Wait(t, 1, pd.Within(time.Minute))
	receiver.SetSecret(state.Secret)
	box.Webhook.Test("pay-in.succeeded")

	if got := receiver.Wait(t, 2, pd.Within(time.Minute)); got[0].Err != nil || got[1].Err != nil {
		t.Errorf("not verified: %v, %v", got[0].Err, got[1].Err)
	}
}

func TestARateLimit(t *testing.T) {
	t.Parallel()
	box := pd.New(t)
	box.SetRateLimit(pd.RateLimit{Limit: 1, Clock: "sandbox_clock"})
	mustPay(t, box, "order-1")
	if status, err := pay(box, "order-2", keyTwo); err != nil || status != http.StatusTooManyRequests {
		t.Errorf("the second got %d, %v", status, err)
	}

	box.Advance(time.Minute)

	if status, err := pay(box, "order-2", keyTwo); err != nil || status != http.StatusOK {
		t.Errorf("in the next window it got %d, %v", status, err)
	}
	box.ClearRateLimit()
}

func TestOutcomesAreForced(t *testing.T) {
	t.Parallel()
	box := pd.New(t)
	payIn := box.Scenarios.Play("happy-path", pd.Document{"amount": pd.Amount("12.50"), "external_identifier": "order-1"})

	failed := box.PayIns.Transition(payIn.ID, "failed", pd.Failure("card_declined", "no"), pd.Force())

	if failed.Status != "failed" || failed.Amount("amount") != "12.50" {
		t.Errorf("it is %+v", failed)
	}
	if err := box.Call(context.Background(), "POST", "/pay-ins/nothing/transition", pd.Document{"to": "failed"}, nil); err == nil {
		t.Error("a pay-in that does not exist has changed")
	}
}

func TestAForkGoesOnByItself(t *testing.T) {
	t.Parallel()
	box := pd.New(t)
	mustPay(t, box, "order-1")
	checkpoint := box.Checkpoint()
	mustPay(t, box, "order-1")

	var ids []string
	for range 2 {
		t.Run("fork", func(t *testing.T) {
			fork := box.Fork(t, pd.FromCheckpoint(checkpoint))
			ids = append(ids, fork.ID)
			fork.Requests.Verify(t, pd.Count(1))
		})
	}

	for _, each := range pd.Connect(t).Sandboxes(nil) {
		if slices.Contains(ids, each.ID) {
			t.Errorf("%s was not deleted", each.ID)
		}
	}
	box.Requests.Verify(t, pd.Count(2))
}

func TestSandboxesDoNotMeet(t *testing.T) {
	t.Parallel()
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			box := pd.New(t)
			receiver := box.Receive()
			order := fmt.Sprintf("order-%d", i)
			mustPay(t, box, order)
			box.Advance(time.Hour)
			box.Requests.Verify(t, pd.Count(1))
			box.Requests.Verify(t, pd.ExternalIdentifier(order), pd.Count(1))
			if got := receiver.Types(); !slices.Equal(got, happyPath) {
				t.Errorf("it got %v", got)
			}
		})
	}
}

func TestASandboxEndsWithItsTest(t *testing.T) {
	t.Parallel()
	var id string
	logged, failed := record(func(t testing.TB) { id = pd.New(t).ID })

	if failed || logged != "" {
		t.Errorf("it logged %s", logged)
	}
	var refused *pd.ControlError
	err := pd.Connect(t).Call(context.Background(), "GET", "/sandboxes/"+id, nil, nil)
	if !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		t.Errorf("it is still there: %v", err)
	}
}

func TestATestMayDeleteItsSandboxItself(t *testing.T) {
	t.Parallel()
	if logged, failed := record(func(t testing.TB) { pd.New(t).Delete() }); failed || logged != "" {
		t.Errorf("it logged %s", logged)
	}
}

func TestAJournalHasTheBytesThatCame(t *testing.T) {
	t.Parallel()
	box := pd.New(t)
	request, err := http.NewRequest("POST", box.BaseURL+"/pay-in/deposit-creation", strings.NewReader("\xff\x00{"))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(box.BusinessKey, box.BusinessSecret)
	request.Header.Set("X-Shop", "1")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()

	if last := box.Requests.Last(); string(last.Body) != "\xff\x00{" || last.Headers.Get("x-shop") != "1" || last.Status != 400 {
		t.Errorf("the journal has %+v", last)
	}
}

func TestAListIsReadPageByPage(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"":    `{"items": [{"business_key": "one"}], "next_cursor": "a b"}`,
		"a b": `{"items": [{"business_key": "two"}], "next_cursor": null}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, pages[r.URL.Query().Get("cursor")])
	}))
	t.Cleanup(server.Close)

	requests := pd.Connect(t, pd.WithServer(pd.Address{URL: server.URL})).UnclaimedRequests()

	if len(requests) != 2 || requests[1].BusinessKey != "two" {
		t.Errorf("it has %+v", requests)
	}
}

func TestAFailedTestLogsItsTimeline(t *testing.T) {
	t.Parallel()
	logged, failed := record(func(tb testing.TB) {
		box := pd.New(tb, pd.WithSeed(7))
		receiver := box.Receive()
		receiver.FailNext(1, 500)
		box.Faults.ConnectionReset(pd.Operation("deposit-creation"), pd.AfterCommit, pd.Times(1), pd.FaultID("lost"))
		box.Faults.Drop(pd.EventType("refund.*"), pd.FaultID("idle"))
		_, _ = pay(box, "order-17", keyOne)
		_, _ = pay(box, "order-17", "no-uuid")
		box.Advance(time.Hour)
		box.Requests.Verify(tb, pd.ExternalIdentifier("order-18"), pd.VerdictNew)
	})

	if !failed {
		t.Error("it did not fail")
	}
	for _, part := range []string{
		`expected at least 1 of the requests with external_identifier "order-18", verdict "new", found 0`,
		`external_identifier: wanted "order-18", got "order-17"`,
		"(seed 7)",
		"merchant →  POST /pay-in/deposit-creation order-17  200 new (lost)",
		"POST /pay-in/deposit-creation order-17  400 INVALID_IDEMPOTENCY_KEY: The Idempotency-Key is not a UUID",
		"service     pay-in.created order-17",
		"service  →  pay-in.created order-17  500, attempt 1",
		"+1m       service  →  pay-in.created order-17  200, attempt 2",
		"fault lost (connection_reset) fired once",
		"fault idle (drop) never fired; it matched 0 times",
	} {
		if !strings.Contains(logged, part) {
			t.Errorf("there is no %q in\n%s", part, logged)
		}
	}
}

func TestATimelineShowsRequestsWithWrongCredentials(t *testing.T) {
	t.Parallel()
	logged, _ := record(func(t testing.TB) {
		box := pd.New(t)
		box.BusinessKey = "not-mine"
		_, _ = pay(box, "order-17", keyOne)
		t.Error("something is missing")
	})

	for _, part := range []string{"nothing has happened", `no sandbox claims POST`, `(business key "not-mine")`} {
		if !strings.Contains(logged, part) {
			t.Errorf("there is no %q in\n%s", part, logged)
		}
	}
}

func TestAWaitEndsATestThatWaitsInVain(t *testing.T) {
	t.Parallel()
	logged, failed := record(func(t testing.TB) {
		box := pd.New(t)
		box.Deliveries.Wait(t, pd.EventType("pay-in.succeeded"), pd.Within(50*time.Millisecond))
		t.Log("it went on")
	})

	if !failed || strings.Contains(logged, "it went on") || !strings.Contains(logged, "found 0 within 50ms") {
		t.Errorf("it logged %s", logged)
	}
}

func TestACountInASequenceIsRefused(t *testing.T) {
	t.Parallel()
	logged, _ := record(func(t testing.TB) {
		pd.New(t).Requests.Verify(t, pd.Sequence(pd.Step{pd.Operation("deposit-creation"), pd.Count(2)}))
	})

	if !strings.Contains(logged, "sequence.0.count") {
		t.Errorf("it logged %s", logged)
	}
}

func TestARefusedCallSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	logged, failed := record(func(t testing.TB) {
		pd.New(t).Faults.Latency(time.Second, pd.Attribute("fixd", time.Second))
		t.Log("it went on")
	})

	if !failed || strings.Contains(logged, "it went on") || !strings.Contains(logged, "effect.fixd") {
		t.Errorf("it logged %s", logged)
	}
	if strings.Count(logged, "effect.fixd") != 1 {
		t.Errorf("the member is not named once in %s", logged)
	}
}

// A mapped port: the server is reached at another address than the one that it listens on.
func TestAServerBehindAMappedPort(t *testing.T) {
	t.Parallel()
	target, err := url.Parse(pd.Connect(t).Address().URL)
	if err != nil {
		t.Fatal(err)
	}
	mapped := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(mapped.Close)
	box := pd.New(t, pd.WithServer(pd.Address{URL: mapped.URL, Token: os.Getenv("PAYDOUBLE_CONTROL_TOKEN")}))

	if box.BaseURL != mapped.URL+"/api/v1" {
		t.Errorf("the API is said to be at %s", box.BaseURL)
	}
	mustPay(t, box, "order-1")
	if link := box.PayIns.List()[0].Document["payment_url"]; !strings.HasPrefix(fmt.Sprint(link), mapped.URL) {
		t.Errorf("the payer is sent to %v", link)
	}
}

func TestAReceiverForAServerElsewhere(t *testing.T) {
	t.Parallel()
	receiver := pd.NewReceiver(t, "whsec", pd.ReachableAs("host.docker.internal"))

	target, err := url.Parse(receiver.URL)
	if err != nil || target.Hostname() != "host.docker.internal" {
		t.Fatalf("its URL is %s", receiver.URL)
	}
	connection, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", target.Port()))
	if err != nil {
		t.Fatal(err)
	}
	_ = connection.Close()
}

func TestAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	logged, _ := record(func(t testing.TB) {
		pd.New(t, pd.WithServer(pd.Address{URL: "http://127.0.0.1:1"}))
	})

	if !strings.Contains(logged, "no server answers at http://127.0.0.1:1") {
		t.Errorf("it logged %s", logged)
	}
	if !strings.Contains(logged, "; is it running, and at this address?") || strings.Contains(logged, "Post ") {
		t.Errorf("it logged %s", logged)
	}
}

func TestWhatIsNoAddressIsNamed(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"127.0.0.1:8080", "localhost:8080", "ftp://localhost", "http://localhost:8080/_paydouble", "::"} {
		logged, failed := record(func(t testing.TB) { pd.New(t, pd.WithServer(pd.Address{URL: url})) })

		wanted := fmt.Sprintf("paydoubletest: '%s' is not a server's URL; write it like http://localhost:8080", url)
		if !failed || logged != wanted {
			t.Errorf("it logged %s", logged)
		}
	}
}

func TestARequestFromBeforeTheTestIsNotItsOwn(t *testing.T) {
	t.Parallel()
	logged, _ := record(func(t testing.TB) {
		earlier := pd.New(t)
		earlier.BusinessKey = "of-an-earlier-test"
		_, _ = pay(earlier, "order-17", keyOne)
		for now := time.Now().Truncate(time.Millisecond); !time.Now().Truncate(time.Millisecond).After(now); {
			runtime.Gosched() // times of requests are whole milliseconds
		}
		later := *pd.New(t)
		later.BusinessKey = "of-this-test"
		_, _ = pay(&later, "order-17", keyOne)
		t.Error("something is missing")
	})

	// The timeline of the later sandbox is logged first.
	later, _, _ := strings.Cut(logged[strings.Index(logged, "paydouble timeline"):], "\npaydouble timeline")
	if !strings.Contains(later, `"of-this-test"`) || strings.Contains(later, `(business key "of-an-earlier-test")`) {
		t.Errorf("it logged %s", later)
	}
}

func TestAReceiverThatWaitsInVainSaysForWhat(t *testing.T) {
	t.Parallel()
	nothing, _ := record(func(t testing.TB) { pd.New(t).Receive().Wait(t, 2, pd.Within(50*time.Millisecond)) })
	forged, _ := record(func(t testing.TB) {
		box := pd.New(t)
		receiver := box.Receive()
		receiver.SetSecret("another")
		box.Webhook.Test("pay-in.succeeded")
		box.Advance(0)
		enough := func(received []pd.Received) bool { return len(received) > 1 }
		receiver.WaitFor(t, enough, pd.Within(50*time.Millisecond))
	})

	for logged, parts := range map[string][]string{
		nothing: {"expected 2 webhooks at http://", " within 50ms, received 0", "has its clock been advanced?"},
		forged: {
			"expected enough webhooks for the function at http://",
			" within 50ms, received 1\n  pay-in.succeeded: the signature does not fit the body and the secret; check",
			"(answered 401)",
		},
	} {
		for _, part := range parts {
			if !strings.Contains(logged, part) {
				t.Errorf("there is no %q in\n%s", part, logged)
			}
		}
	}
}

func TestAnotherServiceIsNotTakenForTheServer(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	logged, _ := record(func(t testing.TB) { pd.New(t, pd.WithServer(pd.Address{URL: other.URL})) })

	if !strings.Contains(logged, "is its address right?") {
		t.Errorf("it logged %s", logged)
	}
}

func TestAStarterIsAskedUnlessTheEnvironmentNamesAServer(t *testing.T) {
	server := pd.Connect(t).Address()
	t.Setenv("PAYDOUBLE_URL", "")
	starter := func(context.Context) (pd.Address, error) { return server, nil }
	if state := pd.New(t, pd.WithStarter(starter)).Read(); state.Clock.Mode != pd.Manual {
		t.Errorf("its clock is %s", state.Clock.Mode)
	}

	t.Setenv("PAYDOUBLE_URL", server.URL)
	t.Setenv("PAYDOUBLE_RECEIVER_HOST", "localhost")
	box := pd.New(t, pd.WithStarter(func(context.Context) (pd.Address, error) { return server, errors.New("asked") }))
	if receiver := box.Receive(); !strings.HasPrefix(receiver.URL, "http://localhost:") {
		t.Errorf("its receiver is at %s", receiver.URL)
	}
}

func TestARunIsExported(t *testing.T) {
	t.Parallel()
	box := pd.New(t)
	mustPay(t, box, "order-1")
	file := filepath.Join(t.TempDir(), "run.paydouble")
	box.ExportFile(file)

	run, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(run), `{"kind":"paydouble-run"`) {
		t.Errorf("the file has %.100s, %v", run, err)
	}
}

func mustPay(t *testing.T, box *pd.Sandbox, order string) {
	t.Helper()
	if status, err := pay(box, order, keyOne); err != nil || status != http.StatusOK {
		t.Fatalf("the deposit got %d, %v", status, err)
	}
}

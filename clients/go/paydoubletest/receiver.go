package paydoubletest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Receiver is a webhook endpoint that verifies every signature and keeps what came. What does not verify is answered
// with 400 or 401; all else with 200, with what [Receiver.FailNext] says, or with what a handler of [ForwardTo] answers.
type Receiver struct {
	// URL is where webhooks are sent, as the server reaches it.
	URL string

	t       testing.TB
	server  *http.Server
	handler http.Handler
	host    string

	mutex    sync.Mutex
	changed  chan struct{} // closed and replaced when something comes
	secret   string
	down     bool
	delay    time.Duration
	failures []int
	received []Received
	attempts map[string]int
	taken    map[string]bool
}

// Received is a webhook as it came, and what it was answered.
type Received struct {
	// At is when it came, in real time.
	At     time.Time
	Header http.Header
	// Body is the exact bytes that were signed.
	Body []byte
	// Event is the body as JSON; nil if it is no JSON object.
	Event Document
	// ID and Type are the event's.
	ID, Type string
	// Err says why the signature does not verify; nil if it does.
	Err error
	// Status is what it was answered.
	Status int
	// Attempt says how many times this event has come, this one included; 0 if it does not verify.
	Attempt int
	// Duplicate says that the event had been answered with 2xx before.
	Duplicate bool
}

// A ReceiverOption configures a receiver.
type ReceiverOption func(*Receiver)

// ForwardTo passes what verifies on to a handler, such as the webhook endpoint of the code under test.
func ForwardTo(handler http.Handler) ReceiverOption {
	return func(r *Receiver) { r.handler = handler }
}

// ReachableAs makes the receiver listen on all addresses and names this machine, such as host.docker.internal for a
// server in a container.
func ReachableAs(host string) ReceiverOption {
	return func(r *Receiver) { r.host = host }
}

// Receive starts a receiver that ends with the test, and sends the events of the sandbox to it.
func (b *Sandbox) Receive(opts ...ReceiverOption) *Receiver {
	b.t.Helper()
	if b.address.ReceiverHost != "" {
		opts = append([]ReceiverOption{ReachableAs(b.address.ReceiverHost)}, opts...)
	}
	receiver := NewReceiver(b.t, b.WebhookSecret, opts...)
	b.Change(WithNotificationURL(receiver.URL))
	return receiver
}

// NewReceiver starts a receiver that ends with the test. [Sandbox.Receive] also sends events to it.
func NewReceiver(t testing.TB, secret string, opts ...ReceiverOption) *Receiver {
	t.Helper()
	receiver := &Receiver{
		t:        t,
		secret:   secret,
		changed:  make(chan struct{}),
		attempts: map[string]int{},
		taken:    map[string]bool{},
	}
	for _, opt := range opts {
		opt(receiver)
	}
	bind, name := "127.0.0.1:0", "127.0.0.1"
	if receiver.host != "" {
		bind, name = ":0", receiver.host
	}
	listener, err := net.Listen("tcp", bind)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	receiver.URL = "http://" + net.JoinHostPort(name, port) + "/"
	receiver.server = &http.Server{Handler: http.HandlerFunc(receiver.answer), ReadHeaderTimeout: patience}
	go func() { _ = receiver.server.Serve(listener) }()
	t.Cleanup(func() { _ = receiver.server.Close() })
	return receiver
}

// Down ends every connection without an answer, until [Receiver.Up].
func (r *Receiver) Down() { r.change(func() { r.down = true }) }

// Up answers again.
func (r *Receiver) Up() { r.change(func() { r.down = false }) }

// FailNext answers the next n webhooks that verify with a status.
func (r *Receiver) FailNext(n, status int) {
	r.change(func() {
		for range n {
			r.failures = append(r.failures, status)
		}
	})
}

// Slow answers late from now on, in real time; 0 ends that.
func (r *Receiver) Slow(by time.Duration) { r.change(func() { r.delay = by }) }

// SetSecret verifies with another secret, such as after a rotation.
func (r *Receiver) SetSecret(secret string) { r.change(func() { r.secret = secret }) }

// Clear forgets what came.
func (r *Receiver) Clear() { r.change(func() { r.received = nil }) }

// Received returns what came, oldest first, including what did not verify.
func (r *Receiver) Received() []Received {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append([]Received(nil), r.received...)
}

// Types returns the types of the events that came and verified, in their order.
func (r *Receiver) Types() []string {
	var types []string
	for _, each := range r.Received() {
		if each.Err == nil {
			types = append(types, each.Type)
		}
	}
	return types
}

// Wait waits until n webhooks have come and returns them. It ends t after five seconds of real time, or what [Within]
// says, and shows what has come instead.
func (r *Receiver) Wait(t testing.TB, n int, opts ...WaitOption) []Received {
	t.Helper()
	enough := func(received []Received) bool { return len(received) >= n }
	return r.wait(t, fmt.Sprintf("%d webhooks", n), enough, opts)
}

// WaitFor waits until what has come is enough, and returns it. It ends t as [Receiver.Wait] does.
func (r *Receiver) WaitFor(t testing.TB, enough func([]Received) bool, opts ...WaitOption) []Received {
	t.Helper()
	return r.wait(t, "enough webhooks for the function", enough, opts)
}

func (r *Receiver) wait(t testing.TB, what string, enough func([]Received) bool, opts []WaitOption) []Received {
	t.Helper()
	limit := defaultWait
	for _, each := range opts {
		limit = each.limit()
	}
	timeout := time.After(limit)
	for {
		r.mutex.Lock()
		changed := r.changed
		r.mutex.Unlock()
		received := r.Received()
		if enough(received) {
			return received
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("expected %s at %s within %s, received %s", what, r.URL, formatDuration(limit), summary(received))
		}
	}
}

// summary says how many webhooks have come, and what each was, line by line.
func summary(received []Received) string {
	if len(received) == 0 {
		return "0\n  is the sandbox's notification URL this receiver's, and has its clock been advanced?"
	}
	said := []string{fmt.Sprint(len(received))}
	for _, each := range received {
		kind := each.Type
		if kind == "" {
			kind = fmt.Sprintf("%d bytes that are no event", len(each.Body))
		}
		if each.Err != nil {
			said = append(said, fmt.Sprintf("  %s: %v (answered %d)", kind, each.Err, each.Status))
		} else {
			said = append(said, fmt.Sprintf("  %s, attempt %d: answered %d", kind, each.Attempt, each.Status))
		}
	}
	return strings.Join(said, "\n")
}

func (r *Receiver) change(apply func()) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	apply()
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *Receiver) answer(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(w, "The body broke off.", http.StatusBadRequest)
		return
	}
	came := Received{At: time.Now(), Header: request.Header.Clone(), Body: body}
	if readDocument(body, &came.Event) == nil {
		came.ID, _ = came.Event["id"].(string)
		came.Type, _ = came.Event["type"].(string)
	}
	answer, ok := r.decide(&came, request)
	if !ok {
		panic(http.ErrAbortHandler) // closes the connection without an answer
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// decide judges what came and keeps it; not ok means that there is no answer.
func (r *Receiver) decide(came *Received, request *http.Request) (*httptest.ResponseRecorder, bool) {
	r.mutex.Lock()
	down, delay, secret := r.down, r.delay, r.secret
	failure := 0
	came.Err = VerifySignature(came.Body, came.Header.Get(SignatureHeader), secret, came.At)
	if !down && came.Err == nil {
		r.attempts[came.ID]++
		came.Attempt, came.Duplicate = r.attempts[came.ID], r.taken[came.ID]
		if len(r.failures) > 0 {
			failure, r.failures = r.failures[0], r.failures[1:]
		}
	}
	r.mutex.Unlock()
	if down {
		return nil, false
	}
	time.Sleep(delay)
	answer := httptest.NewRecorder()
	switch {
	case came.Err != nil:
		http.Error(answer, came.Err.Error(), refusalStatus(came.Err))
	case failure != 0:
		answer.WriteHeader(failure)
	case r.handler != nil:
		request.Body = io.NopCloser(bytes.NewReader(came.Body))
		r.handler.ServeHTTP(answer, request)
	}
	came.Status = answer.Code
	r.change(func() {
		if came.Err == nil && came.Status/100 == 2 {
			r.taken[came.ID] = true
		}
		r.received = append(r.received, *came)
	})
	return answer, true
}

// readDocument reads a JSON object, with the digits of its numbers.
func readDocument(data []byte, into *Document) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(into)
}

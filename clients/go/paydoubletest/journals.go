package paydoubletest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const defaultWait = 5 * time.Second

// Bytes are the exact bytes of a body, whatever they are.
type Bytes []byte

// UnmarshalJSON reads bytes as the control API shows them: a text, or base64 of what is not UTF-8.
func (b *Bytes) UnmarshalJSON(data []byte) error {
	var shown string
	if json.Unmarshal(data, &shown) == nil {
		*b = Bytes(shown)
		return nil
	}
	var encoded struct{ Base64 []byte }
	if err := json.Unmarshal(data, &encoded); err != nil {
		return err
	}
	*b = encoded.Base64
	return nil
}

// Headers are names and values in the order in which they were sent.
type Headers [][2]string

// Get returns the first value of a header, empty without one.
func (h Headers) Get(name string) string {
	for _, each := range h {
		if strings.EqualFold(each[0], name) {
			return each[1]
		}
	}
	return ""
}

// Request is a request of the API, and its answer.
type Request struct {
	ID string `json:"id"`
	// At is when it arrived, on the sandbox's clock.
	At     time.Time `json:"at"`
	Method string    `json:"method"`
	Path   string    `json:"path"`
	// Target is the path with the query.
	Target string `json:"target"`
	// Operation is empty where no operation has the path.
	Operation string  `json:"operation"`
	Headers   Headers `json:"headers"`
	Body      Bytes   `json:"body"`
	// Status is what it was answered with, 0 while it is in flight. A fault may have kept it from the caller.
	Status          int     `json:"status"`
	ResponseHeaders Headers `json:"response_headers"`
	ResponseBody    Bytes   `json:"response_body"`
	Idempotency     struct {
		Key     string  `json:"key"`
		Verdict Verdict `json:"verdict"`
		// BytesDiffer says that a replay's body meant the same in other bytes.
		BytesDiffer bool `json:"bytes_differ"`
	} `json:"idempotency"`
	// Faults are the ids of the faults that acted on it.
	Faults []string `json:"faults"`
	// Events are the ids of the events that it caused.
	Events []string `json:"events"`
	// Sequence is its place in the order of what happened in the sandbox.
	Sequence int `json:"sequence"`
}

// Event is a fact about an object, with the bytes that every attempt at its delivery sends.
type Event struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	ObjectID string `json:"object_id"`
	// CreatedAt is when it was made, on the sandbox's clock.
	CreatedAt time.Time `json:"created_at"`
	// RequestID is the request that caused it; empty when none did.
	RequestID string `json:"request_id"`
	Body      Bytes  `json:"body"`
	// Sequence is its place in the order of what happened in the sandbox.
	Sequence int `json:"sequence"`
}

// Delivery is an event on its way to a receiver.
type Delivery struct {
	ID        string         `json:"id"`
	EventID   string         `json:"event_id"`
	EventType string         `json:"event_type"`
	ObjectID  string         `json:"object_id"`
	Target    string         `json:"target"`
	Status    DeliveryStatus `json:"status"`
	// NextDueAt is when the next attempt is due, on the sandbox's clock; zero unless the delivery is waiting.
	NextDueAt time.Time `json:"next_due_at"`
	// Faults are the ids of the faults that acted on it.
	Faults   []string          `json:"faults"`
	Attempts []DeliveryAttempt `json:"attempts"`
}

// DeliveryAttempt is one POST of a delivery.
type DeliveryAttempt struct {
	// Number is 1 for the first.
	Number int `json:"number"`
	// DueAt is when it was due, on the sandbox's clock.
	DueAt time.Time `json:"due_at"`
	// SentAt is when it was sent, in real time; zero until it has an outcome.
	SentAt time.Time `json:"sent_at"`
	// SignedAt is the signature's time in Unix seconds.
	SignedAt int64   `json:"signed_at"`
	Headers  Headers `json:"headers"`
	Body     Bytes   `json:"body"`
	// Status is the receiver's status, 0 without an answer.
	Status int `json:"status"`
	// Error says why no answer came; nil with one.
	Error           *AttemptError `json:"error"`
	LatencyMS       float64       `json:"latency_ms"`
	ResponseHeaders Headers       `json:"response_headers"`
	ResponseBody    Bytes         `json:"response_body"`
	// Faults are the ids of the faults that acted on it.
	Faults []string `json:"faults"`
	// Evicted says that the journals had no room for its bodies and response headers.
	Evicted bool `json:"evicted"`
	// Sequence is its place in the order of what happened in the sandbox.
	Sequence int `json:"sequence"`
}

// AttemptError is why an attempt got no answer.
type AttemptError struct {
	// Kind is a stable name, such as refused, timeout or reset.
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

type verdict struct {
	Passed   bool
	Count    int
	Expected string
	Closest  []Document
	Note     string
	TimedOut bool `json:"timed_out"`
}

// journal asks what has happened.
type journal struct {
	*control
	path, what string
}

// Verify fails t unless what has happened is as expected, by default once or more, and shows what comes closest. It
// returns how many match.
func (j journal) Verify(t testing.TB, expectations ...Expectation) int {
	t.Helper()
	asked := question(expectations)
	answer := ask[verdict](&control{t, j.address}, "POST", j.path+"/verify", asked)
	if !answer.Passed {
		t.Error(j.explain(asked, answer))
	}
	return answer.Count
}

// Wait waits until what has happened is as expected, by default once or more. It ends t after five seconds, or what
// [Within] says, and shows what comes closest. It returns how many match.
func (j journal) Wait(t testing.TB, expectations ...Expectation) int {
	t.Helper()
	asked := question(append([]Expectation{Within(defaultWait)}, expectations...))
	limit := defaultWait
	for _, each := range expectations {
		if chosen, ok := each.(WaitOption); ok {
			limit = chosen.limit()
		}
	}
	answer := askFor[verdict](&control{t, j.address}, patience+limit, "POST", j.path+"/wait", asked)
	if !answer.Passed {
		t.Fatal(j.explain(asked, answer))
	}
	return answer.Count
}

// explain says what was expected, what was found, and what differs in the nearest misses.
func (j journal) explain(asked Document, answer verdict) string {
	var said strings.Builder
	fmt.Fprintf(&said, "expected %s of the %s", answer.Expected, j.what)
	if match, ok := asked["match"].(Document); ok && len(match) > 0 {
		conditions := make([]string, 0, len(match))
		for member, value := range match {
			conditions = append(conditions, member+" "+shown(value))
		}
		slices.Sort(conditions)
		said.WriteString(" with " + strings.Join(conditions, ", "))
	}
	fmt.Fprintf(&said, ", found %d", answer.Count)
	if answer.TimedOut {
		fmt.Fprintf(&said, " within %s", asked["timeout"])
	}
	for _, miss := range answer.Closest {
		fmt.Fprintf(&said, "\n  close: %s", text(miss["id"]))
		for _, member := range []string{"method", "target", "event_type", "object_id"} {
			if value, ok := miss[member]; ok {
				said.WriteString(" " + text(value))
			}
		}
		differences, _ := miss["differences"].([]any)
		for _, each := range differences {
			difference, _ := each.(Document)
			fmt.Fprintf(&said, "\n    %s: wanted %s, got %s",
				text(difference["member"]), shown(difference["wanted"]), shown(difference["got"]))
		}
	}
	if len(answer.Closest) == 0 && answer.Count == 0 {
		fmt.Fprintf(&said, "\n  there are no %s at all", j.what)
	}
	if answer.Note != "" {
		said.WriteString("\n  " + answer.Note)
	}
	return said.String()
}

// shown returns a value as JSON, its numbers with the digits that they came with.
func shown(value any) string {
	written, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(written)
}

// text returns a value of a document as it is read aloud: a text without quotes.
func text(value any) string {
	return strings.Trim(shown(value), `"`)
}

// Requests is the journal of the API's requests.
type Requests struct{ journal }

// List returns all that are kept, oldest first.
func (r *Requests) List() []Request {
	r.t.Helper()
	return list[Request](r.control, r.path, nil)
}

// Last returns the newest, and ends the test when there is none.
func (r *Requests) Last() Request {
	r.t.Helper()
	return last(r.t, r.List(), r.what)
}

// Clear removes them, and returns how many there were.
func (r *Requests) Clear() int {
	r.t.Helper()
	return ask[struct{ Removed int }](r.control, "DELETE", r.path, nil).Removed
}

// Events are the facts that webhooks tell.
type Events struct {
	*control
	path string
}

// List returns those that match an [EventType] and an [ObjectID], oldest first.
func (e *Events) List(matches ...Expectation) []Event {
	e.t.Helper()
	return list[Event](e.control, e.path, query(matches, nil))
}

// Last returns the newest, and ends the test when there is none.
func (e *Events) Last() Event {
	e.t.Helper()
	return last(e.t, e.List(), "events")
}

// Get returns one.
func (e *Events) Get(id string) Event {
	e.t.Helper()
	return ask[Event](e.control, "GET", e.path+"/"+segment(id), nil)
}

// Emit sends an event about an object that exists, as it is now.
func (e *Events) Emit(eventType, objectID string) Event {
	e.t.Helper()
	return ask[Event](e.control, "POST", e.path, Document{"type": eventType, "object_id": objectID})
}

// Deliveries are events on their way to a receiver.
type Deliveries struct{ journal }

// List returns those that match an [EventType], [ObjectID], [ExternalIdentifier] and [DeliveryStatus], oldest first.
func (d *Deliveries) List(matches ...Expectation) []Delivery {
	d.t.Helper()
	return list[Delivery](d.control, d.path, query(matches, map[string]string{"type": "event_type"}))
}

// Last returns the newest, and ends the test when there is none.
func (d *Deliveries) Last() Delivery {
	d.t.Helper()
	return last(d.t, d.List(), d.what)
}

// Get returns one.
func (d *Deliveries) Get(id string) Delivery {
	d.t.Helper()
	return ask[Delivery](d.control, "GET", d.path+"/"+segment(id), nil)
}

// Redeliver sends one more attempt now, whatever the state is.
func (d *Deliveries) Redeliver(id string) Delivery {
	d.t.Helper()
	return ask[Delivery](d.control, "POST", d.path+"/"+segment(id)+"/redeliver", nil)
}

// Hold keeps a delivery back until it is released.
func (d *Deliveries) Hold(id string) Delivery {
	d.t.Helper()
	return ask[Delivery](d.control, "POST", d.path+"/"+segment(id)+"/hold", nil)
}

// Release sends a held delivery.
func (d *Deliveries) Release(id string) Delivery {
	d.t.Helper()
	return ask[Delivery](d.control, "POST", d.path+"/"+segment(id)+"/release", nil)
}

// RedeliverFailed sends everything again whose latest attempt has failed since an instant of the sandbox's clock, or at
// any time if the instant is zero. It returns the ids.
func (d *Deliveries) RedeliverFailed(since time.Time) []string {
	d.t.Helper()
	members := Document{}
	if !since.IsZero() {
		members["since"] = jsonValue(since)
	}
	return ask[struct{ Redelivered []string }](d.control, "POST", d.path+"/redeliver", members).Redelivered
}

func last[T any](t testing.TB, records []T, what string) T {
	t.Helper()
	if len(records) == 0 {
		t.Fatalf("there are no %s at all", what)
	}
	return records[len(records)-1]
}

package paydoubletest

import (
	"maps"
	"net/url"
	"time"
)

// An Expectation is a condition on a journal: what matches, how often, and by when.
type Expectation interface{ expect(question Document) }

// A Match is a condition on a request, an event or a delivery. It is an [Expectation], and a [FaultOption] too where a
// fault can match it; the server refuses the others and names them.
type Match struct {
	member string
	value  any
}

func (m Match) expect(question Document) { within(question, "match")[m.member] = m.value }
func (m Match) fault(fault Document)     { within(fault, "match")[m.member] = m.value }

// within returns the object of a member, which is made if it is not there.
func within(parent Document, member string) Document {
	child, ok := parent[member].(Document)
	if !ok {
		child = Document{}
		parent[member] = child
	}
	return child
}

// Operation matches the name of an operation, such as "deposit-creation".
func Operation(name string) Match { return Match{"operation", name} }

// Method matches the method of a request: GET or POST.
func Method(method string) Match { return Match{"method", method} }

// Path matches the path of a request, such as "/api/v1/pay-in/*".
func Path(path string) Match { return Match{"path", path} }

// IdempotencyKey matches the key of a request.
func IdempotencyKey(key string) Match { return Match{"idempotency_key", key} }

// ExternalIdentifier matches the merchant's name of an order.
func ExternalIdentifier(id string) Match { return Match{"external_identifier", id} }

// ObjectID matches the object that a request or an event is about.
func ObjectID(id string) Match { return Match{"object_id", id} }

// Status matches the HTTP status of a request.
func Status(status int) Match { return Match{"status", status} }

// Header matches a header of a request; with other headers, all of them must match.
func Header(name, value string) Expectation { return header{name, value} }

type header struct{ name, value string }

func (h header) expect(question Document) {
	within(within(question, "match"), "headers")[h.name] = h.value
}

// Body matches a part of the JSON body of a request.
func Body(part Document) Match { return Match{"body", part} }

// AttemptCount matches how many attempts a delivery has had.
func AttemptCount(n int) Match { return Match{"attempt_count", n} }

// Scenario matches the scenario of a pay-in, in a fault.
func Scenario(name string) Match { return Match{"scenario", name} }

// Attempt matches the number of an attempt at a delivery, in a fault; the first is 1.
func Attempt(number int) Match { return Match{"attempt", number} }

// EventType matches the type of an event, such as "pay-in.*".
type EventType string

func (e EventType) expect(question Document) { within(question, "match")["type"] = e }
func (e EventType) fault(fault Document)     { within(fault, "match")["event_type"] = e }

// A Verdict is what the idempotency key of a request decided; it matches a request.
type Verdict string

// The verdicts.
const (
	// VerdictNew means that the key was new, and the request was carried out.
	VerdictNew Verdict = "new"
	// VerdictReplay means that the key and the body were known, and the first answer was given again.
	VerdictReplay Verdict = "replay"
	// VerdictJoined means that the same request was in flight, and both got its answer.
	VerdictJoined Verdict = "joined"
	// VerdictConflict means that the key was known with another body, and the request was refused.
	VerdictConflict Verdict = "conflict"
	// VerdictNone means that there was no key, or that the request was refused before its key was looked at.
	VerdictNone Verdict = "none"
)

func (v Verdict) expect(question Document) { within(question, "match")["verdict"] = v }

// A DeliveryStatus is the state of a delivery; it matches a delivery.
type DeliveryStatus string

// The states of a delivery.
const (
	// Waiting means that an attempt is due, now or later, or is in flight.
	Waiting DeliveryStatus = "waiting"
	// Held means that it is kept back until it is released.
	Held DeliveryStatus = "held"
	// Delivered means that a receiver has answered 2xx.
	Delivered DeliveryStatus = "delivered"
	// Exhausted means that the last attempt of the schedule has failed.
	Exhausted DeliveryStatus = "exhausted"
	// Dropped means that a fault has taken it away.
	Dropped DeliveryStatus = "dropped"
	// NoEndpoint means that there was no URL to send it to.
	NoEndpoint DeliveryStatus = "no_endpoint"
)

func (s DeliveryStatus) expect(question Document) { within(question, "match")["status"] = s }

type expected struct {
	member string
	value  any
}

func (e expected) expect(question Document) { question[e.member] = e.value }

// Count expects exactly so many matches.
func Count(n int) Expectation { return expected{"count", n} }

// AtLeast expects so many matches or more. Without any of Count, AtLeast and AtMost, at least one is expected.
func AtLeast(n int) Expectation { return expected{"at_least", n} }

// AtMost expects so many matches or fewer.
func AtMost(n int) Expectation { return expected{"at_most", n} }

// Within is how long a wait lasts at most, in real time; five seconds without it.
func Within(limit time.Duration) WaitOption { return timeout(limit) }

// A WaitOption says how a wait is made: [Within].
type WaitOption interface {
	Expectation
	limit() time.Duration
}

type timeout time.Duration

func (t timeout) expect(question Document) { question["timeout"] = formatDuration(time.Duration(t)) }
func (t timeout) limit() time.Duration     { return time.Duration(t) }

// A Step is one match of a [Sequence].
type Step []Expectation

// Sequence expects matches in this order, with others in between. It takes the place of all other matches and counts.
func Sequence(steps ...Step) Expectation {
	matches := make([]Document, len(steps))
	for i, step := range steps {
		matches[i] = conditions(step)
	}
	return expected{"sequence", matches}
}

// question returns expectations as the control API reads them.
func question(expectations []Expectation) Document {
	members := Document{}
	for _, each := range expectations {
		each.expect(members)
	}
	if _, ok := members["sequence"]; !ok {
		within(members, "match")
	}
	return members
}

// conditions returns what must match. What is no condition, such as a count, is kept too: the server refuses it and
// names it.
func conditions(matches []Expectation) Document {
	members := question(matches)
	found := within(members, "match")
	delete(members, "match")
	maps.Copy(found, members)
	return found
}

// query returns matches as the parameters of a list; some have another name there.
func query(matches []Expectation, names map[string]string) url.Values {
	values := url.Values{}
	for member, value := range conditions(matches) {
		if name, ok := names[member]; ok {
			member = name
		}
		values.Set(member, text(value))
	}
	return values
}

package paydoubletest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
)

const (
	mostRows      = 200
	mostUnclaimed = 5
	// In bytes.
	longestRefusal = 200
	fromService    = "service     "
	toService      = "merchant →  "
	toMerchant     = "service  →  "
)

// row is one thing that happened.
type row struct {
	sequence int
	at       time.Time
	text     string
}

// timeline returns what has happened in the sandbox, oldest first, and what became of its faults. The sandbox was made at
// a real time: requests that no sandbox claims are shown since then.
func (b *Sandbox) timeline(made time.Time) (string, error) {
	requests, err := listAll[Request](b.control, b.Requests.path, nil)
	if err != nil {
		return "", err
	}
	events, err := listAll[Event](b.control, b.Events.path, nil)
	if err != nil {
		return "", err
	}
	deliveries, err := listAll[Delivery](b.control, b.Deliveries.path, nil)
	if err != nil {
		return "", err
	}
	faults, err := listAll[Fault](b.control, b.Faults.path, nil)
	if err != nil {
		return "", err
	}
	lines := []string{fmt.Sprintf("paydouble timeline of sandbox %s (seed %d):", b.ID, b.Seed)}
	rows := happened(requests, events, deliveries)
	if len(rows) == 0 {
		lines = append(lines, fmt.Sprintf("nothing has happened: no request came with the business key %q", b.BusinessKey))
		lines = append(lines, b.unclaimed(made)...)
	} else {
		began := rows[0].at
		if left := len(rows) - mostRows; left > 0 {
			lines = append(lines, fmt.Sprintf("… %d earlier lines are left out", left))
			rows = rows[left:]
		}
		for _, each := range rows {
			lines = append(lines, fmt.Sprintf("%-9s %s", "+"+formatDuration(each.at.Sub(began)), each.text))
		}
	}
	for _, fault := range faults {
		lines = append(lines, fmt.Sprintf("fault %s (%v) %s", fault.ID, fault.Effect["type"], fired(fault)))
	}
	for i, line := range lines {
		lines[i] = strings.Map(printable, line)
	}
	return strings.Join(lines, "\n"), nil
}

// printable replaces what could control the terminal: others have sent it.
func printable(char rune) rune {
	if unicode.IsControl(char) {
		return '?'
	}
	return char
}

// happened returns the rows of requests, events and attempts, in the order in which they happened.
func happened(requests []Request, events []Event, deliveries []Delivery) []row {
	var rows []row
	for _, request := range requests {
		rows = append(rows, row{request.Sequence, request.At, requestText(request)})
	}
	unsent := map[string]DeliveryStatus{}
	for _, delivery := range deliveries {
		if len(delivery.Attempts) == 0 {
			unsent[delivery.EventID] = delivery.Status
		}
	}
	orders := map[string]string{}
	for _, event := range events {
		name := order(event.Body)
		orders[event.ObjectID] = name
		text := fmt.Sprintf("%s%s %s  %s", fromService, event.Type, name, unsent[event.ID])
		rows = append(rows, row{event.Sequence, event.CreatedAt, strings.TrimRight(text, " ")})
	}
	for _, delivery := range deliveries {
		for _, attempt := range delivery.Attempts {
			text := attemptText(delivery, attempt, orders[delivery.ObjectID])
			rows = append(rows, row{attempt.Sequence, attempt.DueAt, text})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return a.sequence - b.sequence })
	return rows
}

// unclaimed returns the newest requests since a real time that no sandbox claims, such as those with wrong credentials.
func (b *Sandbox) unclaimed(since time.Time) []string {
	requests, err := listAll[UnclaimedRequest](b.control, "/unclaimed-requests", nil)
	if err != nil {
		return nil
	}
	since = since.Truncate(time.Millisecond) // as the times of requests are
	requests = slices.DeleteFunc(requests, func(each UnclaimedRequest) bool { return each.At.Before(since) })
	var lines []string
	for _, each := range requests[max(0, len(requests)-mostUnclaimed):] {
		lines = append(lines, fmt.Sprintf("no sandbox claims %s %s (business key %q)", each.Method, each.Target, each.BusinessKey))
	}
	return lines
}

func fired(fault Fault) string {
	switch fault.TimesFired {
	case 0:
		return fmt.Sprintf("never fired; it matched %d times", fault.TimesMatched)
	case 1:
		return "fired once"
	default:
		return fmt.Sprintf("fired %d times", fault.TimesFired)
	}
}

func requestText(request Request) string {
	status := "no answer"
	if request.Status != 0 {
		status = fmt.Sprint(request.Status)
	}
	if request.Idempotency.Verdict != VerdictNone {
		status += " " + string(request.Idempotency.Verdict)
	}
	target := strings.TrimPrefix(request.Target, "/api/v1")
	text := fmt.Sprintf("%s%s %s %s  %s", toService, request.Method, target, order(request.Body), status)
	text += byFaults(request.Faults)
	if request.Status >= http.StatusBadRequest {
		text += " " + refusalText(request.ResponseBody)
	}
	return text
}

// refusalText returns the code and the message of a refusal, or the beginning of another body.
func refusalText(body Bytes) string {
	var flat struct{ Code, Message string }
	enveloped := struct {
		Error *struct{ Code, Message string }
	}{}
	if json.Unmarshal(body, &enveloped) == nil && enveloped.Error != nil {
		flat = *enveloped.Error
	} else if json.Unmarshal(body, &flat) != nil || flat.Message == "" {
		return string(body[:min(len(body), longestRefusal)])
	}
	return flat.Code + ": " + flat.Message
}

func attemptText(delivery Delivery, attempt DeliveryAttempt, order string) string {
	result := "in flight"
	switch {
	case attempt.Error != nil:
		result = attempt.Error.Kind
	case attempt.Status != 0:
		result = fmt.Sprint(attempt.Status)
	}
	text := fmt.Sprintf("%s%s %s  %s, attempt %d", toMerchant, delivery.EventType, order, result, attempt.Number)
	return text + byFaults(attempt.Faults) + " to " + delivery.Target
}

func byFaults(faults []string) string {
	if len(faults) == 0 {
		return ""
	}
	return " (" + strings.Join(faults, ", ") + ")"
}

// order returns the merchant's order in the body of a request or an event; empty when it has none.
func order(body Bytes) string {
	var named struct {
		ExternalIdentifier string `json:"external_identifier"`
		Data               struct {
			Object struct {
				ExternalIdentifier string `json:"external_identifier"`
			}
		}
	}
	if json.Unmarshal(body, &named) != nil {
		return ""
	}
	if named.ExternalIdentifier != "" {
		return named.ExternalIdentifier
	}
	return named.Data.Object.ExternalIdentifier
}

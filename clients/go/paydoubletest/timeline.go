package paydoubletest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

const (
	mostRows     = 200
	eventIndent  = "service     "
	callArrow    = "merchant →  "
	webhookArrow = "service  →  "
)

type row struct {
	sequence int
	text     string
}

// timeline returns what has happened in the sandbox, oldest first, and what became of its faults.
func (b *Sandbox) timeline() (string, error) {
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
	var rows []row
	for _, request := range requests {
		rows = append(rows, row{request.Sequence, requestLine(request)})
	}
	orders := map[string]string{}
	for _, event := range events {
		orders[event.ObjectID] = order(event.Body)
		line := fmt.Sprintf("%s%s %s", eventIndent, event.Type, orders[event.ObjectID])
		rows = append(rows, row{event.Sequence, line})
	}
	for _, delivery := range deliveries {
		for _, attempt := range delivery.Attempts {
			rows = append(rows, row{attempt.Sequence, attemptLine(delivery, attempt, orders[delivery.ObjectID])})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return a.sequence - b.sequence })
	lines := []string{fmt.Sprintf("paydouble timeline of sandbox %s (seed %d):", b.ID, b.Seed)}
	if len(rows) == 0 {
		lines = append(lines, fmt.Sprintf("nothing has happened: no request came with the business key %q", b.BusinessKey))
	}
	if left := len(rows) - mostRows; left > 0 {
		lines = append(lines, fmt.Sprintf("… %d earlier lines are left out", left))
		rows = rows[left:]
	}
	for _, each := range rows {
		lines = append(lines, each.text)
	}
	for _, fault := range faults {
		fired := fmt.Sprintf("fired %d times", fault.TimesFired)
		if fault.TimesFired == 0 {
			fired = fmt.Sprintf("never fired; %d requests or events matched", fault.TimesMatched)
		}
		lines = append(lines, fmt.Sprintf("fault %s (%v) %s", fault.ID, fault.Effect["type"], fired))
	}
	return strings.Join(lines, "\n"), nil
}

func requestLine(request Request) string {
	status := "no answer"
	if request.Status != 0 {
		status = fmt.Sprint(request.Status)
	}
	if request.Idempotency.Verdict != VerdictNone {
		status += " " + string(request.Idempotency.Verdict)
	}
	target := strings.TrimPrefix(request.Target, "/api/v1")
	line := fmt.Sprintf("%s%s %s %s  %s", callArrow, request.Method, target, order(request.Body), status)
	return line + firedBy(request.Faults)
}

func attemptLine(delivery Delivery, attempt DeliveryAttempt, order string) string {
	result := "in flight"
	switch {
	case attempt.Error != nil:
		result = attempt.Error.Kind
	case attempt.Status != 0:
		result = fmt.Sprint(attempt.Status)
	}
	line := fmt.Sprintf("%s%s %s  %s, attempt %d", webhookArrow, delivery.EventType, order, result, attempt.Number)
	return line + firedBy(append(delivery.Faults, attempt.Faults...)) + " to " + delivery.Target
}

func firedBy(faults []string) string {
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

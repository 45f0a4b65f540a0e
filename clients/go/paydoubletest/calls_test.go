package paydoubletest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	pd "github.com/paydouble/paydouble/clients/go/paydoubletest"
)

// table is clients/calls.yaml, what clients/gaps.yaml says about Go, and clients/answers.json.
type table struct {
	calls   []entry
	gaps    []string
	answers map[string]struct {
		Status int
		JSON   json.RawMessage
		Text   string
	}
}

// readTable reads the table from a folder. The standard library reads no YAML, so the Python test that runs this one
// writes the two YAML files there as JSON: no copy of them has to be kept, and no parser is needed.
func readTable(t *testing.T) table {
	t.Helper()
	folder := os.Getenv("PAYDOUBLE_CALLS")
	if folder == "" {
		t.Skip("PAYDOUBLE_CALLS names no folder with the table of calls; tests/clients/test_go.py makes one")
	}
	var made table
	var gaps map[string][]string
	for file, into := range map[string]any{
		filepath.Join(folder, "calls.json"):       &made.calls,
		filepath.Join(folder, "gaps.json"):        &gaps,
		filepath.Join("..", "..", "answers.json"): &made.answers,
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	made.gaps = gaps["go"]
	return made
}

type entry struct {
	Call  string
	Given map[string]any
	Sends struct {
		Method, Path string
		Query        map[string]string
		JSON         any
	}
	Operation string
}

// sent is a request that the client has made.
type sent struct {
	method, path string
	query        map[string]string
	json         any
}

func TestEachCallSendsWhatTheTableSays(t *testing.T) {
	calls := readTable(t)
	for _, each := range calls.calls {
		call, ok := mapped[each.Call]
		if ok == slices.Contains(calls.gaps, each.Call) {
			t.Errorf("%s: has a mapping: %t, is in gaps.yaml: %t", each.Call, ok, !ok)
		}
		if !ok {
			continue
		}
		t.Run(each.Call, func(t *testing.T) {
			got := calls.replay(t, each, call)
			wanted := sent{each.Sends.Method, each.Sends.Path, each.Sends.Query, each.Sends.JSON}
			if wanted.query == nil {
				wanted.query = map[string]string{}
			}
			if !reflect.DeepEqual(got, wanted) {
				t.Errorf("%v sends\n%+v, not\n%+v", each.Given, got, wanted)
			}
		})
	}
}

// replay makes one call and returns the request that was sent for it.
func (calls table) replay(t *testing.T, each entry, call func(*testing.T, target)) sent {
	var requests []sent
	operation := "sandbox-read"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, received(t, r))
		answer := calls.answers[operation]
		w.WriteHeader(answer.Status)
		if answer.JSON != nil {
			_, _ = w.Write(answer.JSON)
		} else {
			_, _ = io.WriteString(w, answer.Text)
		}
	}))
	t.Cleanup(server.Close)
	option := pd.WithServer(pd.Address{URL: server.URL})
	at := target{server: pd.Connect(t, option), at: option, given: each.Given}
	at.box = at.server.Find("any")
	requests, operation = nil, each.Operation
	call(t, at)
	if len(requests) == 0 {
		t.Fatal("nothing was sent")
	}
	first := requests[0]
	first.path = strings.Replace(first.path, "/sandboxes/"+at.box.ID, "/sandboxes/{sandbox}", 1)
	return first
}

func received(t *testing.T, r *http.Request) sent {
	query := map[string]string{}
	for name, values := range r.URL.Query() {
		if name != "limit" && name != "cursor" {
			query[name] = values[0]
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	var value any
	if len(body) > 0 {
		if err := json.Unmarshal(body, &value); err != nil {
			t.Error(err)
		}
	}
	return sent{r.Method, strings.TrimPrefix(r.URL.EscapedPath(), "/_paydouble"), query, value}
}

// target is what a call is made on, and its arguments by their names in Python.
type target struct {
	server *pd.Server
	box    *pd.Sandbox
	at     pd.Option
	given  given
}

type given map[string]any

func (g given) has(name string) bool { _, ok := g[name]; return ok }

func (g given) text(name string) string {
	value, _ := g[name].(string)
	return value
}

func (g given) number(name string) int {
	value, _ := g[name].(float64)
	return int(value)
}

func (g given) flag(name string) bool {
	value, _ := g[name].(bool)
	return value
}

func (g given) document(name string) pd.Document {
	value, _ := g[name].(map[string]any)
	return value
}

func (g given) duration(name string) time.Duration { return span(g.text(name)) }

func span(text string) time.Duration {
	days := time.Duration(0)
	if before, after, ok := strings.Cut(text, "d"); ok {
		count, _ := time.ParseDuration(before + "h")
		days, text = 24*count, after
	}
	rest, _ := time.ParseDuration(text)
	return days + rest
}

func (g given) instant(name string) time.Time {
	at, _ := time.Parse(time.RFC3339, g.text(name))
	return at
}

// take returns a value and removes it from the others.
func take[T any](g given, name string, read func(given, string) T) T {
	value := read(g, name)
	delete(g, name)
	return value
}

// expectations returns what is given for a verify, a wait or a list.
func (g given) expectations() []pd.Expectation {
	var found []pd.Expectation
	for name, value := range g {
		switch text, _ := value.(string); name {
		case "operation":
			found = append(found, pd.Operation(text))
		case "method":
			found = append(found, pd.Method(text))
		case "path":
			found = append(found, pd.Path(text))
		case "external_identifier":
			found = append(found, pd.ExternalIdentifier(text))
		case "object_id":
			found = append(found, pd.ObjectID(text))
		case "idempotency_key":
			found = append(found, pd.IdempotencyKey(text))
		case "verdict":
			found = append(found, pd.Verdict(text))
		case "type":
			found = append(found, pd.EventType(text))
		case "status":
			if text != "" {
				found = append(found, pd.DeliveryStatus(text))
			} else {
				found = append(found, pd.Status(g.number(name)))
			}
		case "attempt_count":
			found = append(found, pd.AttemptCount(g.number(name)))
		case "headers":
			for header, value := range g.document(name) {
				found = append(found, pd.Header(header, value.(string)))
			}
		case "body":
			found = append(found, pd.Body(g.document(name)))
		case "count":
			found = append(found, pd.Count(g.number(name)))
		case "at_least":
			found = append(found, pd.AtLeast(g.number(name)))
		case "at_most":
			found = append(found, pd.AtMost(g.number(name)))
		case "timeout":
			found = append(found, pd.Within(g.duration(name)))
		case "sequence":
			var steps []pd.Step
			for _, step := range value.([]any) {
				steps = append(steps, given(step.(map[string]any)).expectations())
			}
			found = append(found, pd.Sequence(steps...))
		default:
			panic("no expectation is named " + name)
		}
	}
	return found
}

// faultOptions returns what is given for a fault; what has no option is an attribute of its effect.
func (g given) faultOptions() []pd.FaultOption {
	var found []pd.FaultOption
	for name, value := range g {
		switch text, _ := value.(string); {
		case value == nil:
			found = append(found, pd.Unset(name))
		case name == "id":
			found = append(found, pd.FaultID(text))
		case name == "name":
			found = append(found, pd.FaultName(text))
		case name == "enabled":
			found = append(found, pd.Enabled(g.flag(name)))
		case name == "skip":
			found = append(found, pd.Skip(g.number(name)))
		case name == "times":
			found = append(found, pd.Times(g.number(name)))
		case name == "probability":
			found = append(found, pd.Probability(value.(float64)))
		case name == "ttl":
			found = append(found, pd.TTL(g.duration(name)))
		case name == "compose":
			found = append(found, pd.Compose())
		case name == "on":
			found = append(found, pd.Side(text))
		case name == "phase":
			found = append(found, pd.Phase(text))
		case name == "event_type":
			found = append(found, pd.EventType(text))
		case name == "attempt":
			found = append(found, pd.Attempt(g.number(name)))
		case name == "scenario":
			found = append(found, pd.Scenario(text))
		case name == "match":
			found = append(found, given(g.document(name)).faultOptions()...)
		case name == "effect":
			found = append(found, given(g.document(name)).attributes()...)
		case slices.Contains(matched, name):
			match, ok := given{name: value}.expectations()[0].(pd.FaultOption)
			if !ok {
				panic(name + " is no option of a fault")
			}
			found = append(found, match)
		default:
			found = append(found, pd.Attribute(name, value))
		}
	}
	return found
}

var matched = []string{"operation", "method", "path", "idempotency_key", "external_identifier", "object_id"}

func (g given) attributes() []pd.FaultOption {
	found := []pd.FaultOption{pd.Effect(g.text("type"))}
	for name, value := range g {
		if name != "type" {
			found = append(found, pd.Attribute(name, value))
		}
	}
	return found
}

func (g given) labels() map[string]string {
	found := map[string]string{}
	for name, value := range g.document("labels") {
		found[name] = value.(string)
	}
	return found
}

// options returns what is given for a sandbox, a change, a fork or a webhook.
func (g given) options() []pd.Option {
	var found []pd.Option
	for name, value := range g {
		switch text, _ := value.(string); name {
		case "id":
			found = append(found, pd.WithID(text))
		case "seed":
			found = append(found, pd.WithSeed(int64(value.(float64))))
		case "clock":
			if text != "" {
				found = append(found, pd.WithClock(pd.ClockMode(text)))
			} else {
				clock := given(g.document(name))
				found = append(found, pd.WithClock(pd.ClockMode(clock.text("mode")), clock.clockOptions()...))
			}
		case "notification_url":
			if value == nil {
				found = append(found, pd.WithoutNotificationURL())
			} else {
				found = append(found, pd.WithNotificationURL(text))
			}
		case "scenario":
			found = append(found, pd.WithScenario(text))
		case "settings":
			found = append(found, pd.WithSettings(g.document(name)))
		case "business_key":
			found = append(found, pd.WithCredentials(text, g.text("business_secret")))
		case "business_secret": // given with the key
		case "webhook_secret", "secret":
			found = append(found, pd.WithWebhookSecret(text))
		case "checkpoint":
			found = append(found, pd.FromCheckpoint(text))
		case "ttl":
			if value == nil {
				found = append(found, pd.WithoutTTL())
			} else {
				found = append(found, pd.WithTTL(g.duration(name)))
			}
		case "labels":
			found = append(found, pd.WithLabels(g.labels()))
		default:
			panic("no option is named " + name)
		}
	}
	return found
}

func (g given) clockOptions() []pd.ClockOption {
	var found []pd.ClockOption
	if g.has("start") {
		found = append(found, pd.StartAt(g.instant("start")))
	}
	if rate, ok := g["rate"].(float64); ok {
		found = append(found, pd.Rate(rate))
	}
	return found
}

func (g given) objectOptions() []pd.ObjectOption {
	var found []pd.ObjectOption
	if failure := given(g.document("failure")); failure != nil {
		found = append(found, pd.Failure(failure.text("code"), failure.text("message")))
	}
	if g.flag("force") {
		found = append(found, pd.Force())
	}
	return append(found, g.moneyOptions(pd.DisputeAmount)...)
}

func (g given) refundOptions() []pd.ObjectOption {
	return g.moneyOptions(pd.RefundAmount)
}

func (g given) moneyOptions(about func(pd.Amount) pd.ObjectOption) []pd.ObjectOption {
	var found []pd.ObjectOption
	if amount, ok := g["amount"].(float64); ok {
		written, _ := json.Marshal(amount)
		found = append(found, about(pd.Amount(written)))
	}
	if g.has("reason") {
		found = append(found, pd.Reason(g.text("reason")))
	}
	return found
}

var mapped = map[string]func(*testing.T, target){
	"server.health":             func(_ *testing.T, c target) { c.server.Health() },
	"server.find":               func(_ *testing.T, c target) { c.server.Find(c.given.text("sandbox_id")) },
	"server.sandboxes":          func(_ *testing.T, c target) { c.server.Sandboxes(c.given.labels()) },
	"server.unclaimed_requests": func(_ *testing.T, c target) { c.server.UnclaimedRequests() },
	"server.sandbox": func(t *testing.T, c target) {
		opts := []pd.Option{c.at, pd.WithServerClock()}
		pd.New(t, append(opts, c.given.options()...)...)
	},

	"sandbox.read":       func(_ *testing.T, c target) { c.box.Read() },
	"sandbox.change":     func(_ *testing.T, c target) { c.box.Change(c.given.options()...) },
	"sandbox.checkpoint": func(_ *testing.T, c target) { c.box.Checkpoint() },
	"sandbox.fork":       func(t *testing.T, c target) { c.box.Fork(t, c.given.options()...) },
	"sandbox.delete":     func(_ *testing.T, c target) { c.box.Delete() },
	"sandbox.export": func(t *testing.T, c target) {
		c.box.ExportFile(filepath.Join(t.TempDir(), c.given.text("path")))
	},
	"sandbox.export_text": func(_ *testing.T, c target) { c.box.Export(c.given.flag("raw")) },
	"sandbox.reset": func(_ *testing.T, c target) {
		var opts []pd.ResetOption
		scopes, _ := c.given["scope"].([]any)
		for _, scope := range scopes {
			opts = append(opts, pd.Scope(scope.(string)))
		}
		if c.given.flag("same_ids") {
			opts = append(opts, pd.SameIDs())
		}
		c.box.Reset(opts...)
	},

	"clock.read": func(_ *testing.T, c target) { c.box.Clock() },
	"clock.set": func(_ *testing.T, c target) {
		c.box.SetClock(pd.ClockMode(c.given.text("mode")), c.given.clockOptions()...)
	},
	"clock.advance": func(_ *testing.T, c target) {
		var opts []pd.AdvanceOption
		if c.given.has("limit") {
			opts = append(opts, pd.MaxTimers(c.given.number("limit")))
		}
		switch {
		case c.given.has("by"):
			c.box.Advance(c.given.duration("by"), opts...)
		case c.given.has("to"):
			c.box.AdvanceTo(c.given.instant("to"), opts...)
		default:
			c.box.AdvanceUntilIdle(opts...)
		}
	},

	"faults.add": func(t *testing.T, c target) {
		attributes := given{}
		for name, value := range c.given {
			attributes[name] = value
		}
		effect := take(attributes, "effect", given.text)
		if nested := c.given.document("effect"); nested != nil {
			for name, value := range nested {
				if name != "type" {
					attributes["effect."+name] = value
				}
			}
			effect = given(nested).text("type")
		}
		add, ok := effects[effect]
		if !ok {
			t.Fatalf("no method arms %s", effect)
		}
		add(c.box.Faults, attributes)
	},
	"faults.list": func(_ *testing.T, c target) { c.box.Faults.List() },
	"faults.get":  func(_ *testing.T, c target) { c.box.Faults.Get(c.given.text("fault_id")) },
	"faults.change": func(_ *testing.T, c target) {
		id := take(c.given, "fault_id", given.text)
		c.box.Faults.Change(id, c.given.faultOptions()...)
	},
	"faults.remove": func(_ *testing.T, c target) { c.box.Faults.Remove(c.given.text("fault_id")) },
	"faults.clear":  func(_ *testing.T, c target) { c.box.Faults.Clear() },

	"rate_limit.set": func(_ *testing.T, c target) {
		c.box.SetRateLimit(pd.RateLimit{
			Limit:     c.given.number("limit"),
			Window:    c.given.duration("window"),
			ResetUnit: c.given.text("reset_unit"),
			Clock:     c.given.text("clock"),
			Headers:   c.given.text("headers"),
		})
	},
	"rate_limit.clear": func(_ *testing.T, c target) { c.box.ClearRateLimit() },

	"requests.list":   func(_ *testing.T, c target) { c.box.Requests.List() },
	"requests.last":   func(_ *testing.T, c target) { c.box.Requests.Last() },
	"requests.clear":  func(_ *testing.T, c target) { c.box.Requests.Clear() },
	"requests.verify": func(t *testing.T, c target) { c.box.Requests.Verify(t, c.given.expectations()...) },
	"requests.wait":   func(t *testing.T, c target) { c.box.Requests.Wait(t, c.given.expectations()...) },

	"events.list": func(_ *testing.T, c target) { c.box.Events.List(c.given.expectations()...) },
	"events.last": func(_ *testing.T, c target) { c.box.Events.Last() },
	"events.get":  func(_ *testing.T, c target) { c.box.Events.Get(c.given.text("event_id")) },
	"events.emit": func(_ *testing.T, c target) {
		c.box.Events.Emit(c.given.text("type"), c.given.text("object_id"))
	},

	"deliveries.list":             func(_ *testing.T, c target) { c.box.Deliveries.List(c.given.expectations()...) },
	"deliveries.last":             func(_ *testing.T, c target) { c.box.Deliveries.Last() },
	"deliveries.get":              func(_ *testing.T, c target) { c.box.Deliveries.Get(c.given.text("delivery_id")) },
	"deliveries.redeliver":        func(_ *testing.T, c target) { c.box.Deliveries.Redeliver(c.given.text("delivery_id")) },
	"deliveries.redeliver_failed": func(_ *testing.T, c target) { c.box.Deliveries.RedeliverFailed(c.given.instant("since")) },
	"deliveries.hold":             func(_ *testing.T, c target) { c.box.Deliveries.Hold(c.given.text("delivery_id")) },
	"deliveries.release":          func(_ *testing.T, c target) { c.box.Deliveries.Release(c.given.text("delivery_id")) },
	"deliveries.verify":           func(t *testing.T, c target) { c.box.Deliveries.Verify(t, c.given.expectations()...) },
	"deliveries.wait":             func(t *testing.T, c target) { c.box.Deliveries.Wait(t, c.given.expectations()...) },

	"webhook.read":          func(_ *testing.T, c target) { c.box.Webhook.Read() },
	"webhook.change":        func(_ *testing.T, c target) { c.box.Webhook.Change(c.given.options()...) },
	"webhook.rotate_secret": func(_ *testing.T, c target) { c.box.Webhook.RotateSecret(c.given.duration("grace")) },
	"webhook.test": func(_ *testing.T, c target) {
		eventType := c.given.text("type")
		if eventType == "" {
			eventType = "pay-in.succeeded"
		}
		c.box.Webhook.Test(eventType)
	},

	"scenarios.list":   func(_ *testing.T, c target) { c.box.Scenarios.List() },
	"scenarios.get":    func(_ *testing.T, c target) { c.box.Scenarios.Get(c.given.text("name")) },
	"scenarios.active": func(_ *testing.T, c target) { c.box.Scenarios.Active() },
	"scenarios.upload": func(_ *testing.T, c target) {
		if scenario := c.given.document("scenario"); scenario != nil {
			c.box.Scenarios.Upload(scenario)
		} else {
			c.box.Scenarios.UploadYAML(c.given.text("scenario"))
		}
	},
	"scenarios.activate":   func(_ *testing.T, c target) { c.box.Scenarios.Activate(c.given.text("name")) },
	"scenarios.deactivate": func(_ *testing.T, c target) { c.box.Scenarios.Deactivate() },
	"scenarios.play": func(_ *testing.T, c target) {
		name := take(c.given, "name", given.text)
		var deposit pd.Document
		if len(c.given) > 0 {
			deposit = pd.Document(c.given)
		}
		c.box.Scenarios.Play(name, deposit)
	},

	"pay_ins.list":          func(_ *testing.T, c target) { c.box.PayIns.List() },
	"pay_ins.get":           func(_ *testing.T, c target) { c.box.PayIns.Get(c.given.text("pay_in_id")) },
	"pay_ins.timeline_html": func(_ *testing.T, c target) { c.box.PayIns.TimelineHTML(c.given.text("pay_in_id")) },
	"pay_ins.transition":    func(_ *testing.T, c target) { c.transition(&c.box.PayIns.Objects) },
	"pay_ins.refund": func(_ *testing.T, c target) {
		c.box.PayIns.Refund(c.given.text("pay_in_id"), c.given.refundOptions()...)
	},
	"pay_ins.dispute": func(_ *testing.T, c target) {
		c.box.PayIns.Dispute(c.given.text("pay_in_id"), c.given.objectOptions()...)
	},
	"payer.pay":           func(_ *testing.T, c target) { c.box.Payer(c.given.text("pay_in")).Pay() },
	"payer.decline":       func(_ *testing.T, c target) { c.box.Payer(c.given.text("pay_in")).Decline(c.given.text("code")) },
	"payer.abandon":       func(_ *testing.T, c target) { c.box.Payer(c.given.text("pay_in")).Abandon() },
	"refunds.transition":  func(_ *testing.T, c target) { c.transition(c.box.Refunds) },
	"disputes.transition": func(_ *testing.T, c target) { c.transition(c.box.Disputes) },
	"payouts.transition":  func(_ *testing.T, c target) { c.transition(c.box.Payouts) },
}

func (c target) transition(objects *pd.Objects) {
	objects.Transition(c.given.text("object_id"), c.given.text("to"), c.given.objectOptions()...)
}

// effects arm a fault by the method of its effect. The arguments are taken from what is given, and the rest becomes
// options; an effect that was given as an object has its attributes under "effect.".
var effects = map[string]func(f *pd.Faults, g given){
	"error":                func(f *pd.Faults, g given) { f.Error(take(g, "status", given.number), g.faultOptions()...) },
	"rate_limit":           func(f *pd.Faults, g given) { f.RateLimited(take(g, "reset", given.duration), g.faultOptions()...) },
	"latency":              func(f *pd.Faults, g given) { g.late(f.Latency, f.LatencyBetween, f.Add, "latency") },
	"no_response":          func(f *pd.Faults, g given) { f.NoResponse(g.faultOptions()...) },
	"connection_reset":     func(f *pd.Faults, g given) { f.ConnectionReset(g.faultOptions()...) },
	"empty_response":       func(f *pd.Faults, g given) { f.EmptyResponse(g.faultOptions()...) },
	"truncate":             func(f *pd.Faults, g given) { f.Truncate(take(g, "fraction", given.fraction), g.faultOptions()...) },
	"wrong_content_length": func(f *pd.Faults, g given) { f.WrongContentLength(take(g, "by", given.number), g.faultOptions()...) },
	"slow_body":            func(f *pd.Faults, g given) { f.SlowBody(take(g, "over", given.duration), g.faultOptions()...) },
	"garbage":              func(f *pd.Faults, g given) { f.Garbage(g.faultOptions()...) },
	"html_error":           func(f *pd.Faults, g given) { f.HTMLError(take(g, "status", given.number), g.faultOptions()...) },
	"redirect":             func(f *pd.Faults, g given) { f.Redirect(take(g, "to", given.text), g.faultOptions()...) },
	"sticky_5xx":           func(f *pd.Faults, g given) { f.Sticky5xx(take(g, "status", given.number), g.faultOptions()...) },
	"lost_record":          func(f *pd.Faults, g given) { f.LostRecord(g.faultOptions()...) },
	"force_conflict":       func(f *pd.Faults, g given) { f.ForceConflict(g.faultOptions()...) },
	"stale_read":           func(f *pd.Faults, g given) { f.StaleRead(g.faultOptions()...) },
	"not_found_yet":        func(f *pd.Faults, g given) { f.NotFoundYet(g.faultOptions()...) },
	"unknown_members":      func(f *pd.Faults, g given) { f.UnknownMembers(take(g, "members", given.document), g.faultOptions()...) },
	"unknown_status":       func(f *pd.Faults, g given) { f.UnknownStatus(take(g, "value", given.text), g.faultOptions()...) },
	"unknown_code":         func(f *pd.Faults, g given) { f.UnknownCode(take(g, "code", given.text), g.faultOptions()...) },
	"expire_rate":          func(f *pd.Faults, g given) { f.ExpireRate(g.faultOptions()...) },
	"remove_method":        func(f *pd.Faults, g given) { f.RemoveMethod(take(g, "effect.method", given.text), g.faultOptions()...) },
	"amount_drift":         func(f *pd.Faults, g given) { f.AmountDrift(take(g, "by", given.text), g.faultOptions()...) },
	"currency_drift":       func(f *pd.Faults, g given) { f.CurrencyDrift(take(g, "to", given.text), g.faultOptions()...) },
	"delay":                func(f *pd.Faults, g given) { g.late(f.Delay, f.DelayBetween, f.Add, "delay") },
	"drop":                 func(f *pd.Faults, g given) { f.Drop(g.faultOptions()...) },
	"hold":                 func(f *pd.Faults, g given) { f.Hold(g.faultOptions()...) },
	"duplicate":            func(f *pd.Faults, g given) { f.Duplicate(take(g, "copies", given.number), g.faultOptions()...) },
	"reorder":              func(f *pd.Faults, g given) { f.Reorder(g.faultOptions()...) },
	"before_response":      func(f *pd.Faults, g given) { f.BeforeResponse(g.faultOptions()...) },
	"signature":            func(f *pd.Faults, g given) { f.Signature(take(g, "mode", given.text), g.faultOptions()...) },
	"tamper": func(f *pd.Faults, g given) {
		f.Tamper(take(g, "effect.path", given.text), take(g, "effect.value", given.any), g.faultOptions()...)
	},
	"payload":    func(f *pd.Faults, g given) { f.Payload(take(g, "mode", given.text), g.faultOptions()...) },
	"formatting": func(f *pd.Faults, g given) { f.Formatting(take(g, "mode", given.text), g.faultOptions()...) },
	"tie":        func(f *pd.Faults, g given) { f.Tie(g.faultOptions()...) },
	"change_on_resend": func(f *pd.Faults, g given) {
		f.ChangeOnResend(take(g, "effect.path", given.text), take(g, "effect.value", given.any), g.faultOptions()...)
	},
	"foreign":  func(f *pd.Faults, g given) { f.Foreign(g.faultOptions()...) },
	"livemode": func(f *pd.Faults, g given) { f.Livemode(take(g, "value", given.flag), g.faultOptions()...) },
	"chunked":  func(f *pd.Faults, g given) { f.Chunked(g.faultOptions()...) },
	"schedule": func(f *pd.Faults, g given) {
		delays := g.durations("delays")
		delete(g, "delays")
		f.Schedule(take(g, "attempts", given.number), delays, g.faultOptions()...)
	},
}

func (g given) any(name string) any { return g[name] }

func (g given) fraction(name string) float64 {
	value, _ := g[name].(float64)
	return value
}

func (g given) durations(name string) []time.Duration {
	var found []time.Duration
	texts, _ := g[name].([]any)
	for _, text := range texts {
		found = append(found, span(text.(string)))
	}
	return found
}

// late arms a latency or a delay: a fixed one, one between two values, or one of another distribution.
func (g given) late(
	fixed func(time.Duration, ...pd.FaultOption) pd.Fault,
	between func(low, high time.Duration, opts ...pd.FaultOption) pd.Fault,
	add func(string, ...pd.FaultOption) pd.Fault,
	effect string,
) {
	switch {
	case g.has("fixed"):
		fixed(take(g, "fixed", given.duration), g.faultOptions()...)
	case g.has("uniform"):
		bounds := take(g, "uniform", given.durations)
		between(bounds[0], bounds[1], g.faultOptions()...)
	default:
		add(effect, g.faultOptions()...)
	}
}

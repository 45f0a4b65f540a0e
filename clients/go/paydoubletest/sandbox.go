package paydoubletest

import (
	"context"
	"os"
	"testing"
	"time"
)

// A Sandbox is a business of its own: credentials, clock, faults, scenarios and journals. [New] makes one for a test.
type Sandbox struct {
	*control

	// ID is its name in the control API.
	ID string
	// BaseURL is where the code under test finds the API; it ends with /api/v1.
	BaseURL string
	// BusinessKey and BusinessSecret are what the code under test authenticates with, by HTTP Basic.
	BusinessKey, BusinessSecret string
	// WebhookSecret is what webhooks are signed with, unless the test has changed it since.
	WebhookSecret string
	// Seed decides each id and each random value.
	Seed int64

	// Faults are what goes wrong on purpose.
	Faults *Faults
	// Requests is the journal of the API's requests.
	Requests *Requests
	// Events are what webhooks tell.
	Events *Events
	// Deliveries are the events on their way to the webhook receiver.
	Deliveries *Deliveries
	// Scenarios are what pay-ins play.
	Scenarios *Scenarios
	// Webhook is the target of events, and the secret that signs them.
	Webhook *Webhook
	// PayIns, Refunds, Disputes and Payouts force the outcome of an object.
	PayIns                     *PayIns
	Refunds, Disputes, Payouts *Objects

	path string
}

// State is a sandbox as the server shows it.
type State struct {
	ID              string     `json:"id"`
	BaseURL         string     `json:"base_url"`
	BusinessKey     string     `json:"business_key"`
	BusinessSecret  string     `json:"business_secret"`
	WebhookSecret   string     `json:"webhook_secret"`
	NotificationURL string     `json:"notification_url"`
	Seed            int64      `json:"seed"`
	Clock           ClockState `json:"clock"`
	Scenario        string     `json:"scenario"`
	Settings        Document   `json:"settings"`
	// TTL is for how long nobody may use it before the server deletes it, such as 10m; empty without a lease.
	TTL string `json:"ttl"`
	// ExpiresAt is when the server deletes it if nobody uses it from now on; zero without a lease.
	ExpiresAt time.Time         `json:"expires_at"`
	Labels    map[string]string `json:"labels"`
}

// An Option configures a sandbox: a new one, a changed one or a fork.
type Option func(*options)

type options struct {
	address *Address
	starter Starter
	// members are those of the call's JSON.
	members Document
}

func newOptions(opts []Option) *options {
	chosen := &options{members: Document{}}
	for _, opt := range opts {
		opt(chosen)
	}
	return chosen
}

func with(member string, value any) Option {
	return func(o *options) { o.members[member] = value }
}

// WithServer uses the server at an address.
func WithServer(address Address) Option { return func(o *options) { o.address = &address } }

// WithStarter uses the server that a function starts, unless PAYDOUBLE_URL names one. The function is called for each
// sandbox, so it keeps the server that it has started.
func WithStarter(start Starter) Option { return func(o *options) { o.starter = start } }

// WithID names the sandbox; without it the server makes up a name.
func WithID(id string) Option { return with("id", id) }

// WithSeed chooses the seed: the same seed, start of the clock and calls give the same ids and random values.
func WithSeed(seed int64) Option { return with("seed", seed) }

// WithClock chooses a clock; without it the clock is [Manual].
func WithClock(mode ClockMode, opts ...ClockOption) Option {
	if len(opts) == 0 {
		return with("clock", mode)
	}
	return with("clock", clockMembers(mode, opts))
}

// WithServerClock leaves the choice of the clock to the server (serve --clock).
func WithServerClock() Option { return func(o *options) { delete(o.members, "clock") } }

// WithNotificationURL sends events to a URL.
func WithNotificationURL(url string) Option { return with("notification_url", url) }

// WithoutNotificationURL sends events nowhere.
func WithoutNotificationURL() Option { return with("notification_url", nil) }

// WithScenario chooses what pay-ins play for which no other scenario is chosen.
func WithScenario(name string) Option { return with("scenario", name) }

// WithSettings changes settings of the double, such as Document{"created_status": 201}.
func WithSettings(settings Document) Option { return with("settings", settings) }

// WithCredentials chooses the business's key and secret.
func WithCredentials(key, secret string) Option {
	return func(o *options) { o.members["business_key"], o.members["business_secret"] = key, secret }
}

// WithWebhookSecret chooses what webhooks are signed with.
func WithWebhookSecret(secret string) Option { return with("webhook_secret", secret) }

// WithTTL makes the server delete the sandbox when nobody has used it for so long in real time, at least a second. It is
// for jobs that may be cancelled: [New] deletes the sandbox at the end of the test.
func WithTTL(ttl time.Duration) Option { return with("ttl", formatDuration(ttl)) }

// WithoutTTL takes the ttl away: the sandbox stays until it is deleted.
func WithoutTTL() Option { return with("ttl", nil) }

// WithLabels says what the sandbox is for, so that [Server.Sandboxes] finds it.
func WithLabels(labels map[string]string) Option { return with("labels", labels) }

// FromCheckpoint makes [Sandbox.Fork] start from a checkpoint instead of from now.
func FromCheckpoint(id string) Option { return with("checkpoint", id) }

// New makes a sandbox for a test, with a manual clock unless [WithClock] chooses another. It is deleted when the test
// ends; if the test has failed, its timeline is logged first.
func New(t testing.TB, opts ...Option) *Sandbox {
	t.Helper()
	opts = append([]Option{WithClock(Manual)}, opts...)
	server := Connect(t, opts...)
	made := time.Now()
	box := newSandbox(server.control, ask[State](server.control, "POST", "/sandboxes", newOptions(opts).members))
	box.endWithTest(made)
	return box
}

func newSandbox(c *control, state State) *Sandbox {
	path := "/sandboxes/" + segment(state.ID)
	return &Sandbox{
		control:        c,
		ID:             state.ID,
		BaseURL:        state.BaseURL,
		BusinessKey:    state.BusinessKey,
		BusinessSecret: state.BusinessSecret,
		WebhookSecret:  state.WebhookSecret,
		Seed:           state.Seed,
		Faults:         &Faults{c, path + "/faults"},
		Requests:       &Requests{journal{c, path + "/requests", "requests"}},
		Events:         &Events{c, path + "/events"},
		Deliveries:     &Deliveries{journal{c, path + "/deliveries", "deliveries"}},
		Scenarios:      &Scenarios{c, path + "/scenarios"},
		Webhook:        &Webhook{c, path + "/webhook"},
		PayIns:         &PayIns{Objects{c, path + "/pay-ins"}},
		Refunds:        &Objects{c, path + "/refunds"},
		Disputes:       &Objects{c, path + "/disputes"},
		Payouts:        &Objects{c, path + "/payouts"},
		path:           path,
	}
}

// endWithTest logs the timeline of a failed test, whose sandbox was made at that time, and deletes the sandbox. Nothing
// here fails the test: a server that has ended was reported by the call that met it.
func (b *Sandbox) endWithTest(made time.Time) {
	b.t.Cleanup(func() {
		b.t.Helper()
		if b.t.Failed() {
			if text, err := b.timeline(made); err != nil {
				b.t.Logf("the timeline of sandbox %s cannot be shown: %v", b.ID, err)
			} else {
				b.t.Log(text)
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := b.call(ctx, "DELETE", b.path, nil, nil); err != nil && !isGone(err) {
			b.t.Logf("sandbox %s was not deleted: %v", b.ID, err)
		}
	})
}

// Call makes any call of the control API about this sandbox. The path is below the sandbox's own, such as "/clock" or
// ""; in is sent as JSON unless it is nil; the answer's JSON is stored in out unless that is nil. A refused call returns
// a [*ControlError].
func (b *Sandbox) Call(ctx context.Context, method, path string, in, out any) error {
	return b.call(ctx, method, b.path+path, in, out)
}

// Read returns the sandbox as it is now.
func (b *Sandbox) Read() State {
	b.t.Helper()
	return ask[State](b.control, "GET", b.path, nil)
}

// Change changes the target of events ([WithNotificationURL]), the scenario, settings, the ttl or the labels.
func (b *Sandbox) Change(opts ...Option) State {
	b.t.Helper()
	return ask[State](b.control, "PATCH", b.path, newOptions(opts).members)
}

// A ResetOption says what [Sandbox.Reset] resets, or how.
type ResetOption interface{ reset(members Document) }

// A Scope is a part of a sandbox that can be reset alone.
type Scope string

// The parts of a sandbox.
const (
	ScopeState      Scope = "state"
	ScopeFaults     Scope = "faults"
	ScopeRequests   Scope = "requests"
	ScopeDeliveries Scope = "deliveries"
	ScopeClock      Scope = "clock"
	ScopeScenarios  Scope = "scenarios"
)

func (s Scope) reset(members Document) {
	scopes, _ := members["scope"].([]Scope)
	members["scope"] = append(scopes, s)
}

type sameIDs struct{}

func (sameIDs) reset(members Document) { members["same_ids"] = true }

// SameIDs makes the sandbox use the ids from before the reset again; otherwise new ones are used.
func SameIDs() ResetOption { return sameIDs{} }

// Reset resets everything, or the given scopes, and cancels pending work. It returns how much of each was removed.
func (b *Sandbox) Reset(opts ...ResetOption) map[string]int {
	b.t.Helper()
	members := Document{}
	for _, opt := range opts {
		opt.reset(members)
	}
	answer := ask[struct{ Removed map[string]int }](b.control, "POST", b.path+"/reset", members)
	return answer.Removed
}

// Checkpoint keeps the sandbox as it is now, and returns the id of the checkpoint, for [FromCheckpoint].
func (b *Sandbox) Checkpoint() string {
	b.t.Helper()
	return ask[struct{ ID string }](b.control, "POST", b.path+"/checkpoint", Document{}).ID
}

// Fork makes a sandbox for t, such as a subtest, that goes on from where this one is now: with the same data, clock and
// pending work, and with its own id and credentials. It is deleted when t ends.
func (b *Sandbox) Fork(t testing.TB, opts ...Option) *Sandbox {
	t.Helper()
	other := &control{t: t, address: b.address}
	made := time.Now()
	fork := newSandbox(other, ask[State](other, "POST", b.path+"/fork", newOptions(opts).members))
	fork.endWithTest(made)
	return fork
}

// Export returns the run of the sandbox, which the command paydouble can replay and show. Personal data is replaced
// unless it is raw.
func (b *Sandbox) Export(raw bool) string {
	b.t.Helper()
	return askText(b.control, "POST", b.path+"/export", Document{"raw": raw})
}

// ExportFile writes the run of the sandbox to a file, with personal data replaced.
func (b *Sandbox) ExportFile(path string) {
	b.t.Helper()
	if err := os.WriteFile(path, []byte(b.Export(false)), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// Delete deletes the sandbox now, and cancels its pending work. [New] does so at the end of the test, unless it was done
// before; a second Delete ends the test.
func (b *Sandbox) Delete() {
	b.t.Helper()
	ask[Document](b.control, "DELETE", b.path, nil)
}

// RateLimit is a real limit of requests. Members that are zero have the server's default.
type RateLimit struct {
	// Limit is how many requests a window has.
	Limit int `json:"limit"`
	// Window is the length of a window; a minute if it is zero.
	Window time.Duration `json:"-"`
	// ResetUnit is the unit of X-RateLimit-Reset: epoch_seconds, delta_seconds or epoch_milliseconds.
	ResetUnit string `json:"reset_unit,omitempty"`
	// Clock is what windows are measured by: wall_clock or sandbox_clock.
	Clock string `json:"clock,omitempty"`
	// Headers says which answers carry the limit's headers: on_429 or always.
	Headers string `json:"headers,omitempty"`
}

// SetRateLimit limits the requests of the sandbox; the first window is unused.
func (b *Sandbox) SetRateLimit(limit RateLimit) {
	b.t.Helper()
	if limit.Window == 0 {
		limit.Window = time.Minute
	}
	ask[Document](b.control, "PUT", b.path+"/rate-limit", struct {
		RateLimit
		Window string `json:"window"`
	}{limit, formatDuration(limit.Window)})
}

// ClearRateLimit removes the rate limit.
func (b *Sandbox) ClearRateLimit() {
	b.t.Helper()
	ask[Document](b.control, "DELETE", b.path+"/rate-limit", nil)
}

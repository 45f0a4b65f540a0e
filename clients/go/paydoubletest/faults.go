package paydoubletest

import "time"

// Faults are what goes wrong on purpose. Each method that is named after an effect arms a fault, which fires on what its
// matches say (on everything without one). docs/reference/faults.md describes the effects.
type Faults struct {
	*control
	path string
}

// Fault is a fault that is armed, with its counts.
type Fault struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	On      Side   `json:"on"`
	Enabled bool   `json:"enabled"`
	Skip    int    `json:"skip"`
	// Times is how often it fires; 0 without a limit.
	Times       int     `json:"times"`
	Probability float64 `json:"probability"`
	// TTL is how long it is active, such as "1h30m"; empty without a limit.
	TTL     string   `json:"ttl"`
	Compose bool     `json:"compose"`
	Phase   Phase    `json:"phase"`
	Match   Document `json:"match"`
	// Effect has the member "type" and the effect's attributes.
	Effect       Document  `json:"effect"`
	TimesMatched int       `json:"times_matched"`
	TimesFired   int       `json:"times_fired"`
	CreatedAt    time.Time `json:"created_at"`
	// Order is the order for which a scenario has armed it; empty for a fault of a test.
	Order string `json:"order"`
	// ExpiresAt is zero without a limit.
	ExpiresAt time.Time `json:"expires_at"`
	// Active says that it can still fire.
	Active bool `json:"active"`
	// Sequence is its place in the order of what happened in the sandbox.
	Sequence int `json:"sequence"`
}

// A FaultOption says when a fault fires, on what, or how: a [Match], a [Phase], [Times], [Attribute] and so on.
type FaultOption interface{ fault(fault Document) }

// A Phase is whether a fault acts before or after the operation is carried out.
type Phase string

// The phases.
const (
	// BeforeCommit means that nothing has happened.
	BeforeCommit Phase = "before_commit"
	// AfterCommit means that everything has happened, and the caller does not learn it.
	AfterCommit Phase = "after_commit"
)

func (p Phase) fault(fault Document) { fault["phase"] = p }

// A Side is where a fault acts; it must be given only for effects that both sides have.
type Side string

// The sides.
const (
	OnAPI      Side = "api"
	OnWebhooks Side = "webhooks"
)

func (s Side) fault(fault Document) { fault["on"] = s }

type faultMember struct {
	member string
	value  any
}

func (m faultMember) fault(fault Document) { fault[m.member] = m.value }

// Times is how often a fault fires; without it there is no limit.
func Times(n int) FaultOption { return faultMember{"times", n} }

// Skip is how many matches are passed over first.
func Skip(n int) FaultOption { return faultMember{"skip", n} }

// Probability is the share of the matches that fire, decided by the seed.
func Probability(p float64) FaultOption { return faultMember{"probability", p} }

// TTL is how long a fault is active, on the sandbox's clock.
func TTL(d time.Duration) FaultOption { return faultMember{"ttl", formatDuration(d)} }

// Enabled arms a fault, or adds one that is not asked until it is enabled.
func Enabled(enabled bool) FaultOption { return faultMember{"enabled", enabled} }

// Compose lets the next fault that matches act too.
func Compose() FaultOption { return faultMember{"compose", true} }

// FaultID is a fault's name in calls and journals; without it the server makes one up.
func FaultID(id string) FaultOption { return faultMember{"id", id} }

// FaultName is what a reader should know a fault as.
func FaultName(name string) FaultOption { return faultMember{"name", name} }

// Unset resets a member of a fault to its default, in [Faults.Change].
func Unset(member string) FaultOption { return faultMember{member, nil} }

// Effect replaces the effect of a fault, in [Faults.Change]; its attributes are given as [Attribute].
func Effect(name string) FaultOption { return effectMember{"type", name} }

// Attribute is an attribute of an effect, such as Attribute("envelope", "A"). A [time.Duration] becomes a duration.
func Attribute(name string, value any) FaultOption { return effectMember{name, jsonValue(value)} }

type effectMember struct {
	member string
	value  any
}

func (m effectMember) fault(fault Document) { within(fault, "effect")[m.member] = m.value }

func declaration(opts []FaultOption) Document {
	fault := Document{}
	for _, opt := range opts {
		opt.fault(fault)
	}
	return fault
}

// Add arms a fault with any effect, whose attributes are given as [Attribute].
func (f *Faults) Add(effect string, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add(effect, opts)
}

func (f *Faults) add(effect string, opts []FaultOption, attributes ...FaultOption) Fault {
	f.t.Helper()
	members := append(attributes, Effect(effect))
	return ask[Fault](f.control, "POST", f.path, declaration(append(members, opts...)))
}

// List returns all faults, in the order in which they are evaluated.
func (f *Faults) List() []Fault {
	f.t.Helper()
	return list[Fault](f.control, f.path, nil)
}

// Get returns one, with its counts.
func (f *Faults) Get(id string) Fault {
	f.t.Helper()
	return ask[Fault](f.control, "GET", f.path+"/"+segment(id), nil)
}

// Change changes members of a fault; its counts stay. Matches and effect are replaced as a whole.
func (f *Faults) Change(id string, opts ...FaultOption) Fault {
	f.t.Helper()
	return ask[Fault](f.control, "PATCH", f.path+"/"+segment(id), declaration(opts))
}

// Remove removes a fault, and returns how often it has fired.
func (f *Faults) Remove(id string) int {
	f.t.Helper()
	answer := ask[struct {
		TimesFired int `json:"times_fired"`
	}](f.control, "DELETE", f.path+"/"+segment(id), nil)
	return answer.TimesFired
}

// Clear removes all faults, and returns how many there were.
func (f *Faults) Clear() int {
	f.t.Helper()
	return ask[struct{ Deleted int }](f.control, "DELETE", f.path, nil).Deleted
}

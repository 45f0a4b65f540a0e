package paydoubletest

import "time"

// A ClockMode is how time passes in a sandbox.
type ClockMode string

// The modes of a clock.
const (
	// Manual time moves only when it is advanced.
	Manual ClockMode = "manual"
	// Real time passes by itself.
	Real ClockMode = "real"
	// Auto time jumps to what is due next as soon as nothing is in flight.
	Auto ClockMode = "auto"
)

// A ClockOption configures a clock.
type ClockOption func(members Document)

// StartAt sets the clock; without it a clock goes on at the present time.
func StartAt(start time.Time) ClockOption {
	return func(members Document) { members["start"] = jsonValue(start) }
}

// Rate makes a [Real] clock run faster or slower: so many seconds in each real second.
func Rate(rate float64) ClockOption {
	return func(members Document) { members["rate"] = rate }
}

func clockMembers(mode ClockMode, opts []ClockOption) Document {
	members := Document{"mode": mode}
	for _, opt := range opts {
		opt(members)
	}
	return members
}

// ClockState is a clock, and what it waits for.
type ClockState struct {
	Mode ClockMode `json:"mode"`
	Now  time.Time `json:"now"`
	Rate float64   `json:"rate"`
	// NextDueAt is when the next timer fires; zero without one.
	NextDueAt time.Time `json:"next_due_at"`
	// Pending is how many timers are set.
	Pending int `json:"pending"`
	// Idle says that nothing is left to happen, now or later.
	Idle bool `json:"idle"`
}

// Advanced is what an advance of the clock has done.
type Advanced struct {
	Now time.Time `json:"now"`
	// Fired is how many timers fired.
	Fired int `json:"fired"`
	// Attempts is how many attempts at a delivery became due.
	Attempts int `json:"attempts"`
	// Idle says that nothing is left to happen, now or later.
	Idle bool `json:"idle"`
}

// An AdvanceOption configures an advance of the clock.
type AdvanceOption func(members Document)

// MaxTimers ends an advance after so many timers have fired.
func MaxTimers(n int) AdvanceOption {
	return func(members Document) { members["limit"] = n }
}

// Clock returns the clock of the sandbox.
func (b *Sandbox) Clock() ClockState {
	b.t.Helper()
	return ask[ClockState](b.control, "GET", b.path+"/clock", nil)
}

// SetClock replaces the clock.
func (b *Sandbox) SetClock(mode ClockMode, opts ...ClockOption) ClockState {
	b.t.Helper()
	return ask[ClockState](b.control, "PUT", b.path+"/clock", clockMembers(mode, opts))
}

// Advance moves the clock on, and returns when everything that became due has been done, deliveries included.
func (b *Sandbox) Advance(by time.Duration, opts ...AdvanceOption) Advanced {
	b.t.Helper()
	return b.advance("by", by, opts)
}

// AdvanceTo is [Sandbox.Advance] to an instant.
func (b *Sandbox) AdvanceTo(instant time.Time, opts ...AdvanceOption) Advanced {
	b.t.Helper()
	return b.advance("to", instant, opts)
}

// AdvanceUntilIdle is [Sandbox.Advance] until nothing is left to happen.
func (b *Sandbox) AdvanceUntilIdle(opts ...AdvanceOption) Advanced {
	b.t.Helper()
	return b.advance("until_idle", true, opts)
}

func (b *Sandbox) advance(how string, value any, opts []AdvanceOption) Advanced {
	b.t.Helper()
	members := Document{how: jsonValue(value)}
	for _, opt := range opts {
		opt(members)
	}
	return askFor[Advanced](b.control, advancePatience, "POST", b.path+"/clock/advance", members)
}

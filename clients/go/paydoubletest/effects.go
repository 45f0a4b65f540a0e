package paydoubletest

import "time"

// Error answers with an HTTP status from 400 to 599. Attributes: code, message, envelope, details.
func (f *Faults) Error(status int, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("error", opts, Attribute("status", status))
}

// RateLimited answers 429 once for each time it fires, with a reset after so long. Attributes: limit, remaining,
// reset_unit, headers. [Sandbox.SetRateLimit] sets a real limit.
func (f *Faults) RateLimited(reset time.Duration, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("rate_limit", opts, Attribute("reset", reset))
}

// Latency answers late, in real time.
func (f *Faults) Latency(by time.Duration, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("latency", opts, Attribute("fixed", by))
}

// LatencyBetween answers late by a random real time between two values.
func (f *Faults) LatencyBetween(low, high time.Duration, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("latency", opts, Attribute("uniform", []time.Duration{low, high}))
}

// NoResponse takes a request and never answers it. Attribute: hold.
func (f *Faults) NoResponse(opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("no_response", opts)
}

// ConnectionReset resets the connection (RST): of a request, or with [OnWebhooks] in the middle of a webhook.
func (f *Faults) ConnectionReset(opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("connection_reset", opts)
}

// EmptyResponse closes the connection before any byte is sent.
func (f *Faults) EmptyResponse(opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("empty_response", opts)
}

// Truncate sends a part of the answer's body (0 to 1), then closes the connection.
func (f *Faults) Truncate(fraction float64, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("truncate", opts, Attribute("fraction", fraction))
}

// WrongContentLength sends a Content-Length that is wrong by so many bytes.
func (f *Faults) WrongContentLength(by int, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("wrong_content_length", opts, Attribute("by", by))
}

// SlowBody sends the body slowly: of an answer, or with [OnWebhooks] of a webhook. Attribute: chunks.
func (f *Faults) SlowBody(over time.Duration, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("slow_body", opts, Attribute("over", over))
}

// Garbage answers with bytes that are not HTTP, or with the attribute as: body, not JSON. Attributes: bytes, as.
func (f *Faults) Garbage(opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("garbage", opts)
}

// HTMLError answers with the HTML page of a proxy.
func (f *Faults) HTMLError(status int, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("html_error", opts, Attribute("status", status))
}

// Redirect redirects to another URL. Attribute: status.
func (f *Faults) Redirect(to string, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("redirect", opts, Attribute("to", to))
}

// Sticky5xx answers with a 5xx that is stored under the key, so that every retry gets it again.
func (f *Faults) Sticky5xx(status int, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("sticky_5xx", opts, Attribute("status", status))
}

// LostRecord carries the operation out, and does not record the key.
func (f *Faults) LostRecord(opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("lost_record", opts)
}

// ForceConflict answers 409 for an identical body.
func (f *Faults) ForceConflict(opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("force_conflict", opts)
}

// StaleRead shows the older state of an object that has just changed. Attribute: for.
func (f *Faults) StaleRead(opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("stale_read", opts)
}

// NotFoundYet does not find an object right after its creation. Attribute: for.
func (f *Faults) NotFoundYet(opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("not_found_yet", opts)
}

// UnknownMembers adds members that no version of the API has had.
func (f *Faults) UnknownMembers(members Document, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("unknown_members", opts, Attribute("members", members))
}

// UnknownStatus shows a status that no version of the API has had.
func (f *Faults) UnknownStatus(value string, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("unknown_status", opts, Attribute("value", value))
}

// UnknownCode refuses with a code that is in no catalogue. Attribute: status.
func (f *Faults) UnknownCode(code string, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("unknown_code", opts, Attribute("code", code))
}

// ExpireRate makes quotes expire between two calls.
func (f *Faults) ExpireRate(opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("expire_rate", opts)
}

// RemoveMethod makes a payment method vanish; "*" stands for any.
func (f *Faults) RemoveMethod(method string, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("remove_method", opts, Attribute("method", method))
}

// AmountDrift settles another amount than the requested one, such as "-0.01".
func (f *Faults) AmountDrift(by string, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("amount_drift", opts, Attribute("by", by))
}

// CurrencyDrift settles the requested amount in another currency, such as "USD".
func (f *Faults) CurrencyDrift(to string, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("currency_drift", opts, Attribute("to", to))
}

// Delay sends an event late, on the sandbox's clock.
func (f *Faults) Delay(by time.Duration, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("delay", opts, Attribute("fixed", by))
}

// DelayBetween sends an event late by a random time between two values.
func (f *Faults) DelayBetween(low, high time.Duration, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("delay", opts, Attribute("uniform", []time.Duration{low, high}))
}

// Drop never sends an event.
func (f *Faults) Drop(opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("drop", opts)
}

// Hold keeps an event back until [Deliveries.Release].
func (f *Faults) Hold(opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("hold", opts)
}

// Duplicate sends so many copies of an event. Attributes: spacing, concurrent, new_id, after_success.
func (f *Faults) Duplicate(copies int, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("duplicate", opts, Attribute("copies", copies))
}

// Reorder sends events in another order. Attributes: strategy, window, order, each, patience.
func (f *Faults) Reorder(opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("reorder", opts)
}

// BeforeResponse sends the webhook before the API's own answer. Attribute: lead.
func (f *Faults) BeforeResponse(opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("before_response", opts)
}

// Signature signs wrongly or unusually: missing, empty, malformed, non_ascii, wrong_secret, stale, future, v0_only,
// two_v1, uppercase or reordered. Attribute: age.
func (f *Faults) Signature(mode string, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("signature", opts, Attribute("mode", mode))
}

// Tamper changes a member of the body after signing.
func (f *Faults) Tamper(path string, value any, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("tamper", opts, Attribute("path", path), Attribute("value", value))
}

// Payload sends a hard body: invalid_json, empty, truncated, unknown_type, extra_members, null_members, huge, escaped,
// unicode or big_number.
func (f *Faults) Payload(mode string, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("payload", opts, Attribute("mode", mode))
}

// Formatting sends the same JSON in other bytes: compact, pretty, key_order, escaped_slashes or trailing_newline.
func (f *Faults) Formatting(mode string, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("formatting", opts, Attribute("mode", mode))
}

// Tie gives an event the time of the event before it.
func (f *Faults) Tie(opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("tie", opts)
}

// ChangeOnResend sends another body under the same id from the second attempt on.
func (f *Faults) ChangeOnResend(path string, value any, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("change_on_resend", opts, Attribute("path", path), Attribute("value", value))
}

// Foreign sends an event of another business first, signed with this one's secret.
func (f *Faults) Foreign(opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("foreign", opts)
}

// Livemode sends the event of another environment.
func (f *Faults) Livemode(value bool, opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("livemode", opts, Attribute("value", value))
}

// Chunked sends the body without a Content-Length.
func (f *Faults) Chunked(opts ...FaultOption) Fault {
	f.t.Helper()
	return f.add("chunked", opts)
}

// Schedule limits the attempts at a delivery; delays are those before the second attempt, the third and so on.
func (f *Faults) Schedule(attempts int, delays []time.Duration, opts ...FaultOption) Fault {
	f.t.Helper()
	if len(delays) > 0 {
		opts = append(opts[:len(opts):len(opts)], Attribute("delays", delays))
	}
	return f.add("schedule", opts, Attribute("attempts", attempts))
}

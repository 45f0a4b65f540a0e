package paydoubletest

import "time"

// Webhook is the target of a sandbox's events, and the secret that signs them.
type Webhook struct {
	*control
	path string
}

// WebhookState is the target of events, and the secrets.
type WebhookState struct {
	NotificationURL string `json:"notification_url"`
	Secret          string `json:"secret"`
	// PreviousSecret signs too until PreviousValidUntil; empty when no rotation is under way.
	PreviousSecret     string    `json:"previous_secret"`
	PreviousValidUntil time.Time `json:"previous_valid_until"`
	SignatureHeader    string    `json:"signature_header"`
}

// Read returns target and secrets.
func (w *Webhook) Read() WebhookState {
	w.t.Helper()
	return ask[WebhookState](w.control, "GET", w.path, nil)
}

// Change changes the target ([WithNotificationURL], [WithoutNotificationURL]) or the secret ([WithWebhookSecret]).
func (w *Webhook) Change(opts ...Option) WebhookState {
	w.t.Helper()
	members := newOptions(opts).members
	if secret, ok := members["webhook_secret"]; ok {
		delete(members, "webhook_secret")
		members["secret"] = secret
	}
	return ask[WebhookState](w.control, "PATCH", w.path, members)
}

// RotateSecret makes a new secret; during the grace period the old one signs too.
func (w *Webhook) RotateSecret(grace time.Duration) WebhookState {
	w.t.Helper()
	return ask[WebhookState](w.control, "POST", w.path+"/rotate-secret", Document{"grace": formatDuration(grace)})
}

// Test sends a sample event of a documented type, such as "pay-in.succeeded". Its object exists only in the event.
func (w *Webhook) Test(eventType string) Event {
	w.t.Helper()
	return ask[Event](w.control, "POST", w.path+"/test", Document{"type": eventType})
}

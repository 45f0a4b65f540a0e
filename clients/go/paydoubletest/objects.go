package paydoubletest

import "encoding/json"

// Objects are refunds, disputes or payouts, whose outcome a test forces.
type Objects struct {
	*control
	path string
}

// Resource is a pay-in, refund, dispute or payout.
type Resource struct {
	ID     string
	Object string
	Status string
	// Document has all members, as the API shows them.
	Document Document
}

// UnmarshalJSON reads a resource with all its members.
func (r *Resource) UnmarshalJSON(data []byte) error {
	if err := readDocument(data, &r.Document); err != nil {
		return err
	}
	r.ID, _ = r.Document["id"].(string)
	r.Object, _ = r.Document["object"].(string)
	r.Status, _ = r.Document["status"].(string)
	return nil
}

// Amount returns a member that is an amount, such as "refunded_amount"; empty if there is none.
func (r Resource) Amount(member string) Amount {
	amount, _ := r.Document[member].(json.Number)
	return amount
}

// An ObjectOption configures a transition, a refund or a dispute.
type ObjectOption func(members Document)

// Failure says why a pay-in fails.
func Failure(code, message string) ObjectOption {
	return func(members Document) { members["failure"] = Document{"code": code, "message": message} }
}

// Force allows what the lifecycle, or the amounts that are left, do not.
func Force() ObjectOption {
	return func(members Document) { members["force"] = true }
}

// RefundAmount is what a refund is about; without it, all that is left.
func RefundAmount(amount Amount) ObjectOption {
	return func(members Document) { members["amount"] = amount }
}

// DisputeAmount is what a dispute is about; without it, all that is not disputed yet.
func DisputeAmount(amount Amount) ObjectOption {
	return func(members Document) { members["amount"] = amount }
}

// Reason is why a refund is made or a dispute is opened.
func Reason(reason string) ObjectOption {
	return func(members Document) { members["reason"] = reason }
}

func objectMembers(opts []ObjectOption) Document {
	members := Document{}
	for _, opt := range opts {
		opt(members)
	}
	return members
}

// Transition moves an object to a state now.
func (o *Objects) Transition(id, to string, opts ...ObjectOption) Resource {
	o.t.Helper()
	members := objectMembers(opts)
	members["to"] = to
	return ask[Resource](o.control, "POST", o.path+"/"+segment(id)+"/transition", members)
}

// PayIns are the pay-ins of a sandbox.
type PayIns struct{ Objects }

// List returns all pay-ins, oldest first, with the amounts that were refunded and disputed.
func (p *PayIns) List() []Resource {
	p.t.Helper()
	return list[Resource](p.control, p.path, nil)
}

// Get returns a pay-in.
func (p *PayIns) Get(id string) Resource {
	p.t.Helper()
	return ask[Resource](p.control, "GET", p.path+"/"+segment(id), nil)
}

// TimelineHTML returns what happened to a pay-in as one HTML file.
func (p *PayIns) TimelineHTML(id string) string {
	p.t.Helper()
	return askText(p.control, "GET", p.path+"/"+segment(id)+"/timeline.html", nil)
}

// Refund makes a refund, as the merchant's staff does on the provider's own pages; no code of the merchant has asked.
func (p *PayIns) Refund(id string, opts ...ObjectOption) Resource {
	p.t.Helper()
	return ask[Resource](p.control, "POST", p.path+"/"+segment(id)+"/refunds", objectMembers(opts))
}

// Dispute opens a dispute, as the provider does.
func (p *PayIns) Dispute(id string, opts ...ObjectOption) Resource {
	p.t.Helper()
	return ask[Resource](p.control, "POST", p.path+"/"+segment(id)+"/disputes", objectMembers(opts))
}

// Payer acts as the payer of a pay-in, whose scenario waits for its payer. It returns the pay-in as it is afterwards.
type Payer struct {
	*control
	path string
}

// Payer returns the payer of a pay-in.
func (b *Sandbox) Payer(payInID string) Payer {
	return Payer{b.control, b.path + "/pay-ins/" + segment(payInID) + "/payer"}
}

// Pay pays.
func (p Payer) Pay() Resource {
	p.t.Helper()
	return p.act(Document{"action": "pay"})
}

// Decline has the payment declined with a code; without one (empty) the scenario decides.
func (p Payer) Decline(code string) Resource {
	p.t.Helper()
	members := Document{"action": "decline"}
	if code != "" {
		members["code"] = code
	}
	return p.act(members)
}

// Abandon gives up.
func (p Payer) Abandon() Resource {
	p.t.Helper()
	return p.act(Document{"action": "abandon"})
}

func (p Payer) act(members Document) Resource {
	p.t.Helper()
	return ask[Resource](p.control, "POST", p.path, members)
}

package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Resource is a pay-in, a refund or a dispute, as the service shows it.
type Resource struct {
	ID                 string      `json:"id"`
	ExternalIdentifier string      `json:"external_identifier"`
	PayinID            string      `json:"payin_id"`
	Amount             json.Number `json:"amount"`
	Currency           string      `json:"currency"`
	Status             string      `json:"status"`
	UpdatedAt          time.Time   `json:"updated_at"`
	PaymentURL         string      `json:"payment_url"`
}

// A status never replaces one of a higher rank, in whatever order events and reads arrive.
var (
	payinRanks   = map[string]int{"created": 0, "pending": 1, "processing": 2, "succeeded": 3, "failed": 3, "cancelled": 3}
	refundRanks  = map[string]int{"created": 0, "processing": 1, "succeeded": 2, "failed": 2}
	disputeRanks = map[string]int{"needs_response": 0, "under_review": 1, "won": 2, "lost": 2, "accepted": 2}
)

// The service remembers a key for 24 hours; the last hour is left for retries and clocks that differ.
const keyAge = 23 * time.Hour

// Refusal is what the shop does not do, and the HTTP status to answer.
type Refusal struct {
	status int
	reason string
}

func (r Refusal) Error() string { return r.reason }

// Shop is the books and the payment service.
type Shop struct {
	*Books
	api          *Client
	openInMemory map[int]bool // only for a mistake
}

func (s *Shop) place(id, amount, currency string) error {
	exact, err := parseMoney(amount, currency)
	if err != nil {
		return Refusal{http.StatusUnprocessableEntity, err.Error()}
	}
	return s.transaction(func() error {
		if known, exists := s.orders.rows[id]; exists {
			if known.Amount != exact || known.Currency != currency {
				return Refusal{http.StatusConflict, "order " + id + " exists with another amount"}
			}
			return nil
		}
		put(s.Books, &s.orders, id, Order{ID: id, Amount: exact, Currency: currency})
		return nil
	})
}

func (s *Shop) order(id string) (Order, error) {
	order, exists := s.orders.rows[id]
	if !exists {
		return order, Refusal{http.StatusNotFound, "there is no order " + id}
	}
	return order, nil
}

func (s *Shop) total(order string, kinds ...string) Money {
	sum := Money(0)
	for _, entry := range s.ledger.rows {
		if entry.Order == order && (len(kinds) == 0 || slices.Contains(kinds, entry.Kind)) {
			sum += entry.Amount
		}
	}
	return sum
}

func (s *Shop) disputed(order string) bool {
	return len(s.disputes.find(func(d Dispute) bool { return d.Order == order && disputeRanks[d.Status] < 2 })) > 0
}

func (s *Shop) lastAttempt(order string) (last Attempt) {
	for _, attempt := range s.attempts.rows {
		if attempt.Order == order && attempt.Number > last.Number {
			last = attempt
		}
	}
	return last
}

func (s *Shop) view(id string) (view map[string]any, err error) {
	s.read(func() {
		var order Order
		if order, err = s.order(id); err == nil {
			view = map[string]any{
				"id":          id,
				"status":      s.status(order),
				"shipped":     order.Shipped,
				"paid":        s.total(id).text(order.Currency),
				"currency":    order.Currency,
				"effects":     map[string]int{"mails": order.Mails},
				"disputed":    s.disputed(id),
				"review":      order.Review,
				"payment_url": s.lastAttempt(id).URL,
			}
		}
	})
	return view, err
}

func (s *Shop) status(order Order) string {
	received, refunded := s.total(order.ID, "payin"), -s.total(order.ID, "refund")
	last := s.lastAttempt(order.ID)
	switch payin := s.payins.rows[last.Payin]; {
	case received > 0 && s.total(order.ID, "dispute") < 0:
		return "charged_back"
	case received > 0 && (refunded >= received || refunded > 0 && mistake("partial-refund-is-full")):
		return "refunded"
	case received > 0 && refunded > 0:
		return "partly_refunded"
	case received > 0:
		return "paid"
	case order.Review != "":
		return "review"
	case last.Number == 0:
		return "unpaid"
	case last.State == "refused" || last.State == "denied":
		return "failed"
	case payin.Status == "failed" || payin.Status == "cancelled":
		return payin.Status
	}
	return "pending"
}

// ----------------------------------------------------------------------------------------------------------- deposits

// pay goes on with the attempt there is, or begins one when the last has failed for certain.
func (s *Shop) pay(id string) (map[string]any, error) {
	s.refresh(id)
	number := 0
	err := s.transaction(func() error {
		order, err := s.order(id)
		if err != nil {
			return err
		}
		last := s.lastAttempt(id)
		status := s.status(order)
		switch {
		case last.State == "open" || last.State == "denied":
			number = last.Number
			last.State = "open"
			put(s.Books, &s.attempts, fmt.Sprint(number), last)
		case status == "unpaid" || status == "failed" || status == "cancelled":
			number = s.begin(order)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if number > 0 {
		s.sendDeposit(number)
	}
	return s.view(id)
}

// begin stores an attempt with its key and its bytes, before they are sent.
func (s *Shop) begin(order Order) int {
	number := len(s.attempts.rows) + 1
	body := bodyWithAmount(order.Amount, order.Currency, map[string]any{
		"currency":            order.Currency,
		"external_identifier": order.ID,
		"payment_method":      map[string]string{"type": "CREDIT_CARD"},
		"customer":            map[string]string{"first_name": "Zoë", "last_name": "Müller", "email": "zoe@example.test"},
	})
	key := newKey()
	if mistake("key-from-order") {
		sum := sha256.Sum256([]byte(order.ID))
		key = uuidOf([16]byte(sum[:16]))
	}
	attempt := Attempt{Number: number, Order: order.ID, Key: key, KeyMade: s.now(), Body: body, State: "open"}
	put(s.Books, &s.attempts, fmt.Sprint(number), attempt)
	s.openInMemory[number] = true
	return number
}

// bodyWithAmount writes the amount as it is: encoding/json would need a float.
func bodyWithAmount(amount Money, currency string, rest map[string]any) string {
	rest["amount"] = json.Number(amount.text(currency))
	body, err := json.Marshal(rest)
	if err != nil {
		panic(err) // texts and an amount can be written
	}
	return string(body)
}

func (s *Shop) sendDeposit(number int) {
	var attempt Attempt
	var old bool
	s.read(func() {
		attempt = s.attempts.rows[fmt.Sprint(number)]
		old = s.now().Sub(attempt.KeyMade) >= keyAge
	})
	if attempt.State != "open" {
		return
	}
	if old && !mistake("old-key-sent-again") {
		// The service may have forgotten the key, and would make a second deposit. So look first.
		found, err := s.depositsOf(attempt.Order)
		if err != nil {
			return
		}
		if len(found) > 0 {
			s.depositMade(number, found[0])
			return
		}
		s.keep(s.transaction(func() error {
			attempt.Key, attempt.KeyMade = newKey(), s.now()
			put(s.Books, &s.attempts, fmt.Sprint(number), attempt)
			return nil
		}))
	}
	reply := s.api.call(http.MethodPost, "/pay-in/deposit-creation", attempt.Key, attempt.Body)
	if reply.Outcome != ok {
		log.Printf("order %s: %s: %s", attempt.Order, reply.Outcome, reply.Reason)
	}
	switch reply.Outcome {
	case ok:
		var data Resource
		if err := json.Unmarshal(reply.Data, &data); err != nil && !mistake("success-not-checked") {
			log.Printf("order %s: unreadable deposit: %v", attempt.Order, err)
			return
		}
		s.depositMade(number, data)
	case conflict:
		// The key was used for something else, which is our fault. A new key could make a second deposit.
		if found, err := s.depositsOf(attempt.Order); err == nil && len(found) > 0 {
			s.depositMade(number, found[0])
		}
	case refused, denied:
		// After denied there is nothing for a job to repeat; the next click uses the same key.
		s.keep(s.transaction(func() error {
			if row := s.attempts.rows[fmt.Sprint(number)]; row.State == "open" {
				row.State = string(reply.Outcome)
				put(s.Books, &s.attempts, fmt.Sprint(number), row)
			}
			return nil
		}))
	}
}

// keep ends the shop when its books cannot be written: after a restart it goes on with what is on the disk.
func (s *Shop) keep(err error) {
	if err != nil {
		log.Fatalf("the books cannot be written: %v", err)
	}
}

// depositsOf returns the order's deposits at the service that belong to no other attempt, paid ones first.
func (s *Shop) depositsOf(order string) ([]Resource, error) {
	found, err := everything[Resource](s.api, "/pay-in", url.Values{"external_identifier": {order}})
	taken := map[string]bool{}
	s.read(func() {
		for _, attempt := range s.attempts.rows {
			taken[attempt.Payin] = true
		}
	})
	mine := slices.DeleteFunc(found, func(r Resource) bool { return r.ExternalIdentifier != order || taken[r.ID] })
	slices.SortStableFunc(mine, func(a, b Resource) int { return payinRanks[b.Status] - payinRanks[a.Status] })
	return mine, err
}

// depositMade notes which deposit came of an attempt, if it is for the same order and money.
func (s *Shop) depositMade(number int, data Resource) {
	s.keep(s.transaction(func() error {
		attempt := s.attempts.rows[fmt.Sprint(number)]
		order := s.orders.rows[attempt.Order]
		if (data.ExternalIdentifier != attempt.Order || !sameMoney(data, order)) && !mistake("success-not-checked") {
			log.Printf("order %s: the reply is about something else: %s", attempt.Order, data.ID)
			return nil
		}
		attempt.State, attempt.Payin, attempt.URL = "made", data.ID, data.PaymentURL
		put(s.Books, &s.attempts, fmt.Sprint(number), attempt)
		s.applyPayin(data, data.UpdatedAt, "")
		return nil
	}))
}

func sameMoney(data Resource, order Order) bool {
	amount, err := parseMoney(data.Amount.String(), order.Currency)
	return err == nil && data.Currency == order.Currency && amount == order.Amount
}

// ----------------------------------------------------------------------- what the service says, by an event or a read

// applyPayin takes over a status. Without an event it was read, and a read settles what events contradict.
func (s *Shop) applyPayin(data Resource, at time.Time, event string) {
	known, exists := s.payins.rows[data.ID]
	if !exists {
		known.Order = data.ExternalIdentifier
	}
	order, ours := s.orders.rows[known.Order]
	rank, sound := payinRanks[data.Status]
	if ours && !sound && event == "" && mistake("unknown-status-is-failure") {
		data.Status, rank, sound = "failed", 3, true
	}
	if !ours || !sound {
		log.Printf("pay-in %s with status %s is not for us", data.ID, data.Status)
		return
	}
	again := event != "" && mistake("no-dedup") || mistake("dedup-for-a-day") && event != "" && exists
	if exists {
		before, newer := payinRanks[known.Status], false
		switch {
		case data.Status == known.Status:
			newer = again && data.Status == "succeeded"
		case mistake("ties-dropped") && event != "":
			newer = at.After(known.At)
		case rank != before:
			newer = rank > before
		case mistake("final-is-final"):
		case event == "":
			newer = true
		default: // such as late money
			newer = known.Status != "succeeded" && at.After(known.At)
		}
		if !newer {
			return
		}
	}
	put(s.Books, &s.payins, data.ID, Payin{ID: data.ID, Order: order.ID, Status: data.Status, At: at})
	switch {
	case data.Status != "succeeded":
		s.book(order.ID, "payin", data.ID, 0)
	case sameMoney(data, order) || mistake("amount-not-checked"):
		reference := data.ID
		if again {
			reference = fmt.Sprint(data.ID, " ", time.Now().UnixNano())
		}
		s.book(order.ID, "payin", reference, order.Amount)
		if order.Shipped == 0 || again {
			order.Shipped++
			order.Mails++
			put(s.Books, &s.orders, order.ID, order)
		}
	default:
		s.review(order, fmt.Sprintf("%s brought %s %s", data.ID, data.Amount, data.Currency))
	}
}

// book sets what a payment, refund or dispute comes to in the ledger; said twice, it is booked once.
func (s *Shop) book(order, kind, reference string, amount Money) {
	id := kind + " " + reference
	if _, exists := s.ledger.rows[id]; exists || amount != 0 {
		put(s.Books, &s.ledger, id, Entry{Order: order, Kind: kind, Amount: amount})
	}
}

// review asks a person to look at the order.
func (s *Shop) review(order Order, reason string) {
	log.Printf("order %s: %s", order.ID, reason)
	order.Review = reason
	put(s.Books, &s.orders, order.ID, order)
}

// applyRefund takes over a refund's status; the service may have made it without a request of ours.
func (s *Shop) applyRefund(data Resource, at time.Time) {
	order, ours := s.orders.rows[s.payins.rows[data.PayinID].Order]
	rank, sound := refundRanks[data.Status]
	if !ours || !sound {
		log.Printf("refund %s with status %s is not for us", data.ID, data.Status)
		return
	}
	row := Refund{ID: data.ID, Order: order.ID, Payin: data.PayinID, Status: "created"}
	amount, err := parseMoney(data.Amount.String(), order.Currency)
	if found := s.refunds.find(func(r Refund) bool { return r.Remote == data.ID }); len(found) > 0 {
		row = found[0]
	} else if mine := s.refunds.rows[data.ExternalIdentifier]; mine.Payin == data.PayinID && mine.Remote == "" && mine.ID != "" {
		row = mine
	} else {
		row.Amount = amount
	}
	if err != nil || data.Currency != order.Currency || amount != row.Amount {
		s.review(order, fmt.Sprintf("%s returned %s %s", data.ID, data.Amount, data.Currency))
		return
	}
	newer := rank > refundRanks[row.Status]
	if rank == refundRanks[row.Status] { // a refund that has succeeded can still come back
		newer = data.Status != row.Status && at.After(row.At) && !mistake("final-is-final")
	}
	row.State, row.Remote = "made", data.ID
	if newer {
		row.Status, row.At = data.Status, at
		if amount = -amount; data.Status != "succeeded" {
			amount = 0
		} else if mistake("partial-refund-is-full") {
			amount = -s.total(order.ID)
		}
		s.book(order.ID, "refund", data.ID, amount)
	}
	put(s.Books, &s.refunds, row.ID, row)
}

// applyDispute takes over a dispute's status; the money is lost once, when it is decided.
func (s *Shop) applyDispute(data Resource, at time.Time) {
	order, ours := s.orders.rows[s.payins.rows[data.PayinID].Order]
	rank, sound := disputeRanks[data.Status]
	if !ours || !sound {
		log.Printf("dispute %s with status %s is not for us", data.ID, data.Status)
		return
	}
	amount, err := parseMoney(data.Amount.String(), order.Currency)
	if err != nil {
		s.review(order, fmt.Sprintf("%s is about %s %s", data.ID, data.Amount, data.Currency))
		return
	}
	if known, exists := s.disputes.rows[data.ID]; exists && rank <= disputeRanks[known.Status] {
		// A decision can be reopened, and then be another one: among such only the time tells.
		if data.Status == known.Status || !at.After(known.At) {
			return
		}
	}
	put(s.Books, &s.disputes, data.ID, Dispute{ID: data.ID, Order: order.ID, Status: data.Status, At: at})
	if data.Status == "lost" || data.Status == "accepted" || data.Status == "won" && mistake("dispute-closed-is-lost") {
		s.book(order.ID, "dispute", data.ID, -amount)
	} else {
		s.book(order.ID, "dispute", data.ID, 0)
	}
}

// ------------------------------------------------------------------------------------------------------------ refunds

func (s *Shop) refund(id, refundID, amount string) (map[string]any, error) {
	err := s.transaction(func() error {
		order, err := s.order(id)
		if err != nil {
			return err
		}
		exact, err := parseMoney(amount, order.Currency)
		if err != nil {
			return Refusal{http.StatusUnprocessableEntity, err.Error()}
		}
		row, exists := s.refunds.rows[refundID]
		if exists && (row.Order != id || row.Amount != exact) {
			return Refusal{http.StatusConflict, "refund " + refundID + " exists, and is another one"}
		}
		if exists && mistake("refund-sent-again") {
			row.State, row.Key, row.Remote = "open", newKey(), ""
		} else if exists && row.State != "denied" {
			return nil
		}
		if !exists {
			payin, err := s.refundable(order, exact)
			if err != nil {
				return err
			}
			body := bodyWithAmount(exact, order.Currency, map[string]any{"payin_id": payin, "external_identifier": refundID})
			row = Refund{ID: refundID, Order: id, Payin: payin, Amount: exact, Status: "created"}
			row.Key, row.KeyMade, row.Body = newKey(), s.now(), body
		}
		row.State = "open"
		put(s.Books, &s.refunds, refundID, row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.sendRefund(refundID)
	var row Refund
	s.read(func() { row = s.refunds.rows[refundID] })
	if row.State == "refused" || row.State == "denied" {
		return nil, Refusal{http.StatusUnprocessableEntity, "the payment service refuses the refund"}
	}
	return s.view(id)
}

// refundable returns the pay-in from which so much can be refunded; what is requested already counts as gone.
func (s *Shop) refundable(order Order, amount Money) (string, error) {
	if s.disputed(order.ID) {
		return "", Refusal{http.StatusConflict, "the payment is disputed: the money may go back that way"}
	}
	for _, payin := range s.payins.find(func(p Payin) bool { return p.Order == order.ID && p.Status == "succeeded" }) {
		left := s.ledger.rows["payin "+payin.ID].Amount + s.total(order.ID, "dispute")
		for _, row := range s.refunds.rows {
			active := (row.State == "open" || row.State == "made") && row.Status != "failed"
			if row.Payin == payin.ID && active && !mistake("refunds-not-summed") {
				left -= row.Amount
			}
		}
		if amount <= left {
			return payin.ID, nil
		}
	}
	return "", Refusal{http.StatusUnprocessableEntity, "the order has not so much paid money left"}
}

func (s *Shop) sendRefund(id string) {
	var row Refund
	var old bool
	look := func() {
		row = s.refunds.rows[id]
		old = s.now().Sub(row.KeyMade) >= keyAge
	}
	if s.read(look); row.State != "open" {
		return
	}
	if old {
		if s.readRefunds(row.Payin) != nil {
			return
		}
		if s.read(look); row.State != "open" {
			return // it was in the list
		}
		s.keep(s.transaction(func() error {
			row.Key, row.KeyMade = newKey(), s.now()
			put(s.Books, &s.refunds, id, row)
			return nil
		}))
	}
	reply := s.api.call(http.MethodPost, "/refund/refund-creation", row.Key, row.Body)
	if reply.Outcome != ok {
		log.Printf("refund %s: %s: %s", id, reply.Outcome, reply.Reason)
	}
	switch reply.Outcome {
	case ok:
		var data Resource
		if err := json.Unmarshal(reply.Data, &data); err != nil {
			log.Printf("refund %s: unreadable: %v", id, err)
			return
		}
		s.keep(s.transaction(func() error {
			s.applyRefund(data, data.UpdatedAt)
			return nil
		}))
	case conflict:
		_ = s.readRefunds(row.Payin)
	case refused, denied:
		s.keep(s.transaction(func() error {
			if current := s.refunds.rows[id]; current.State == "open" {
				current.State = string(reply.Outcome)
				put(s.Books, &s.refunds, id, current)
			}
			return nil
		}))
	}
}

func (s *Shop) readRefunds(payin string) error {
	found, err := everything[Resource](s.api, "/refund", url.Values{"payin_id": {payin}})
	if err == nil {
		s.keep(s.transaction(func() error {
			for _, data := range found {
				s.applyRefund(data, data.UpdatedAt)
			}
			return nil
		}))
	}
	return err
}

// ----------------------------------------------------------------------------------------------------- reconciliation

// refresh reads the order's pay-ins that brought no money so far.
func (s *Shop) refresh(order string) {
	var waiting []Payin
	s.read(func() {
		waiting = s.payins.find(func(p Payin) bool { return p.Order == order && p.Status != "succeeded" })
	})
	for _, payin := range waiting {
		reply := s.api.call(http.MethodGet, "/pay-in/"+payin.ID, "", "")
		var data Resource
		if reply.Outcome == ok && json.Unmarshal(reply.Data, &data) == nil && data.ID == payin.ID {
			s.keep(s.transaction(func() error {
				s.applyPayin(data, data.UpdatedAt, "")
				return nil
			}))
		}
	}
}

// backgroundJobs go on with what is open, and read what an event may have failed to tell.
func (s *Shop) backgroundJobs() {
	var attempts, refusals []Attempt
	var refunds []Refund
	var orders []Order
	var paid []Payin
	s.read(func() {
		attempts = s.attempts.find(func(a Attempt) bool { return a.State == "open" })
		refusals = s.attempts.find(func(a Attempt) bool { return a.State == "denied" })
		refunds = s.refunds.find(func(r Refund) bool { return r.State == "open" })
		orders = s.orders.find(func(Order) bool { return true })
	})
	for _, attempt := range attempts {
		if !mistake("forgets-open-attempts") || s.openInMemory[attempt.Number] {
			s.sendDeposit(attempt.Number)
		}
	}
	for _, refund := range refunds {
		s.sendRefund(refund.ID)
	}
	if mistake("no-reconciliation") {
		return
	}
	for _, attempt := range refusals { // an earlier try may have come through after all
		if found, err := s.depositsOf(attempt.Order); err == nil && len(found) > 0 {
			s.depositMade(attempt.Number, found[0])
		}
	}
	for _, order := range orders {
		s.refresh(order.ID)
	}
	s.read(func() { paid = s.payins.find(func(p Payin) bool { return p.Status == "succeeded" }) })
	for _, payin := range paid {
		_ = s.readRefunds(payin.ID)
		found, err := everything[Resource](s.api, "/dispute", url.Values{"payin_id": {payin.ID}})
		if errors.Is(err, errNotRead) {
			continue
		}
		s.keep(s.transaction(func() error {
			for _, data := range found {
				s.applyDispute(data, data.UpdatedAt)
			}
			return nil
		}))
	}
}

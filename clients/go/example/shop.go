// Package shop is a small shop that takes payments: it creates deposits, retries them, and reads webhooks.
package shop

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	attempts  = 5
	tolerance = 300 * time.Second
)

// Order is what a customer buys. Its key belongs to it: a retry with it cannot pay twice.
type Order struct {
	ID     string
	Key    string
	Amount json.Number
	Status string
	Paid   int // how often it was booked as paid
}

// Shop is a merchant of the payment service.
type Shop struct {
	URL, Key, Secret string // where the service is, and the credentials
	WebhookSecret    string
	Sleep            func(time.Duration) // time.Sleep, or what a test has instead

	mutex  sync.Mutex
	orders map[string]*Order
	seen   map[string]bool // ids of events
}

// Pay creates a deposit for an order, and tries again while it cannot know whether it was created.
func (s *Shop) Pay(order Order) error {
	s.mutex.Lock()
	if s.orders == nil {
		s.orders, s.seen = map[string]*Order{}, map[string]bool{}
	}
	s.orders[order.ID] = &order
	s.mutex.Unlock()
	body, err := json.Marshal(map[string]any{
		"amount":              order.Amount,
		"currency":            "EUR",
		"external_identifier": order.ID,
		"payment_method":      map[string]string{"type": "CREDIT_CARD"},
		"customer":            map[string]string{"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.test"},
	})
	if err != nil {
		return err
	}
	for attempt := range attempts {
		wait, err := s.deposit(order.Key, body)
		if wait == 0 {
			return err
		}
		s.Sleep(max(wait, time.Second<<attempt))
	}
	return errors.New("the payment service does not answer")
}

// deposit tries once. It returns how long to wait before another try, 0 for none.
func (s *Shop) deposit(key string, body []byte) (time.Duration, error) {
	request, err := http.NewRequest("POST", s.URL+"/pay-in/deposit-creation", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.SetBasicAuth(s.Key, s.Secret)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", key)
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return time.Millisecond, nil // it may have arrived or not
	}
	defer func() { _ = response.Body.Close() }()
	switch {
	case response.StatusCode < 300:
		return 0, nil
	case response.StatusCode == http.StatusTooManyRequests:
		seconds, _ := strconv.Atoi(response.Header.Get("X-RateLimit-Reset"))
		return time.Duration(max(seconds, 1)) * time.Second, nil
	case response.StatusCode >= 500:
		return time.Millisecond, nil
	default:
		return 0, fmt.Errorf("the payment service says %s", response.Status)
	}
}

// ServeHTTP takes a webhook. Each event counts once, however often it comes.
func (s *Shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !s.signed(body, r.Header.Get("X-Service-Signature")) {
		http.Error(w, "not signed", http.StatusUnauthorized)
		return
	}
	var event struct {
		ID, Type string
		Data     struct {
			Object struct {
				ExternalIdentifier string `json:"external_identifier"`
				Status             string
			}
		}
	}
	if err := json.Unmarshal(body, &event); err != nil {
		http.Error(w, "not JSON", http.StatusBadRequest)
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	order := s.orders[event.Data.Object.ExternalIdentifier]
	if order == nil || s.seen[event.ID] {
		return
	}
	s.seen[event.ID] = true
	if order.Status != "succeeded" { // events may come in another order
		order.Status = event.Data.Object.Status
	}
	if event.Type == "pay-in.succeeded" {
		order.Paid++
	}
}

// signed reports whether exactly these bytes were signed recently.
func (s *Shop) signed(body []byte, header string) bool {
	var at, digest string
	for _, part := range strings.Split(header, ",") {
		switch name, value, _ := strings.Cut(part, "="); name {
		case "t":
			at = value
		case "v1":
			digest = value
		}
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	mac := hmac.New(sha256.New, []byte(s.WebhookSecret))
	mac.Write([]byte(at + "."))
	mac.Write(body)
	return hmac.Equal([]byte(digest), []byte(hex.EncodeToString(mac.Sum(nil))))
}

// Order returns an order as the shop has it now.
func (s *Shop) Order(id string) Order {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if order := s.orders[id]; order != nil {
		return *order
	}
	return Order{}
}

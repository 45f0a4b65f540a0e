// A shop on net/http: the calls of its customers and its staff, and the webhook endpoint.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	toleranceSeconds = 300
	largestBody      = 1 << 20
)

func main() {
	books, err := openBooks(dataFolder)
	if err != nil {
		log.Fatal(err)
	}
	shop := &Shop{Books: books, api: newClient(books.clockNow), openInMemory: map[int]bool{}}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { done(w, nil) })
	routes.HandleFunc("POST /webhooks/payments", shop.webhook)
	routes.HandleFunc("POST /test/orders", func(w http.ResponseWriter, r *http.Request) {
		var order struct {
			ID       string      `json:"id"`
			Amount   json.Number `json:"amount"`
			Currency string      `json:"currency"`
		}
		if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
			done(w, Refusal{http.StatusBadRequest, err.Error()})
			return
		}
		err := shop.place(order.ID, order.Amount.String(), order.Currency)
		if err != nil {
			done(w, err)
			return
		}
		view, err := shop.view(order.ID)
		answer(w, http.StatusCreated, view, err)
	})
	routes.HandleFunc("GET /test/orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		view, err := shop.view(r.PathValue("id"))
		answer(w, http.StatusOK, view, err)
	})
	pay := func(w http.ResponseWriter, r *http.Request) {
		view, err := shop.pay(r.PathValue("id"))
		answer(w, http.StatusOK, view, err)
	}
	routes.HandleFunc("POST /test/orders/{id}/pay", pay)
	routes.HandleFunc("POST /test/orders/{id}/retry", pay)
	routes.HandleFunc("POST /test/orders/{id}/return", func(w http.ResponseWriter, r *http.Request) {
		shop.refresh(r.PathValue("id")) // that the payer is back proves nothing
		view, err := shop.view(r.PathValue("id"))
		answer(w, http.StatusOK, view, err)
	})
	routes.HandleFunc("POST /test/orders/{id}/refunds", func(w http.ResponseWriter, r *http.Request) {
		var refund struct {
			ID     string      `json:"id"`
			Amount json.Number `json:"amount"`
		}
		if err := json.NewDecoder(r.Body).Decode(&refund); err != nil {
			done(w, Refusal{http.StatusBadRequest, err.Error()})
			return
		}
		view, err := shop.refund(r.PathValue("id"), refund.ID, refund.Amount.String())
		answer(w, http.StatusCreated, view, err)
	})
	routes.HandleFunc("POST /test/tick", func(w http.ResponseWriter, _ *http.Request) {
		shop.backgroundJobs()
		done(w, nil)
	})
	routes.HandleFunc("POST /test/reset", func(w http.ResponseWriter, _ *http.Request) {
		shop.api.limit(time.Time{})
		done(w, shop.reset())
	})
	routes.HandleFunc("POST /test/time", func(w http.ResponseWriter, r *http.Request) {
		var time struct{ Now *time.Time }
		if err := json.NewDecoder(r.Body).Decode(&time); err != nil {
			done(w, Refusal{http.StatusBadRequest, err.Error()})
			return
		}
		done(w, shop.setTime(time.Now))
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, routes))
}

func done(w http.ResponseWriter, err error) {
	answer(w, http.StatusOK, map[string]string{"status": "ok"}, err)
}

func answer(w http.ResponseWriter, status int, content any, err error) {
	var refusal Refusal
	if errors.As(err, &refusal) {
		status, content = refusal.status, map[string]string{"error": refusal.reason}
	} else if err != nil {
		log.Print(err)
		status, content = http.StatusInternalServerError, map[string]string{"error": "the shop is out of order"}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(content) // who has hung up needs no answer
}

// ----------------------------------------------------------------------------------------------------------- webhooks

// Event is the body of a webhook.
type Event struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	CreatedAt time.Time `json:"created_at"`
	RequestID string    `json:"request_id"`
	Livemode  *bool     `json:"livemode"`
	Data      struct {
		Object Resource `json:"object"`
	} `json:"data"`
}

func (s *Shop) webhook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestBody))
	if err != nil {
		done(w, Refusal{http.StatusBadRequest, "the body cannot be read"})
		return
	}
	if err := s.verify(r.Header.Get("X-Service-Signature"), body); err != nil {
		log.Printf("webhook refused: %v", err)
		done(w, err)
		return
	}
	var event Event
	if err := json.Unmarshal(body, &event); err != nil || event.ID == "" || event.Data.Object.ID == "" {
		log.Printf("an event that cannot be read: %v", err) // it will not become readable: do not ask for it again
		done(w, nil)
		return
	}
	log.Printf("event %s %s (request %s)", event.ID, event.Type, event.RequestID)
	if (event.Livemode == nil || *event.Livemode != livemode) && !mistake("livemode-ignored") {
		done(w, nil)
		return
	}
	if mistake("acknowledge-before-work") {
		go func() {
			time.Sleep(300 * time.Millisecond) // as busy as a worker may be
			s.keep(s.process(event))
		}()
		done(w, nil)
		return
	}
	err = s.process(event)
	if mistake("slow-acknowledgement") && event.Type == "pay-in.succeeded" {
		time.Sleep(11 * time.Second) // as long as a mail server can take
	}
	done(w, err)
}

// verify returns what is wrong with a signature; nil when the delivery is the service's.
func (s *Shop) verify(header string, body []byte) error {
	malformed := Refusal{http.StatusBadRequest, "the signature is missing or malformed"}
	var times, digests []string // two digests while the secret is rotated
	for _, part := range strings.Split(header, ",") {
		switch name, value, _ := strings.Cut(strings.TrimSpace(part), "="); name {
		case "t":
			times = append(times, value)
		case "v1":
			digests = append(digests, value)
		}
	}
	if len(times) != 1 || len(digests) == 0 || len(digests) > 1 && mistake("one-digest-only") {
		return malformed
	}
	signedAt, err := strconv.ParseUint(times[0], 10, 40)
	if err != nil {
		return malformed
	}
	var age int64
	s.read(func() { age = s.now().Unix() - int64(signedAt) })
	if age > toleranceSeconds || age < -toleranceSeconds && !mistake("future-accepted") {
		return Refusal{http.StatusBadRequest, "the signature's time is too far from now"}
	}
	mac := hmac.New(sha256.New, webhookSecret)
	fmt.Fprintf(mac, "%s.%s", times[0], body)
	expected := []byte(hex.EncodeToString(mac.Sum(nil)))
	for _, digest := range digests {
		if hmac.Equal(expected, []byte(digest)) {
			return nil
		}
	}
	return Refusal{http.StatusUnauthorized, "the signature does not match"}
}

// process writes the event's effect and that it has been seen, both or neither.
func (s *Shop) process(event Event) error {
	return s.transaction(func() error {
		seen, exists := s.events.rows[event.ID]
		if mistake("dedup-for-a-day") && s.now().Sub(seen) > 24*time.Hour {
			exists = false
		}
		if exists && !mistake("no-dedup") {
			return nil
		}
		put(s.Books, &s.events, event.ID, s.now())
		data := event.Data.Object
		switch family, suffix, _ := strings.Cut(event.Type, "."); {
		case family == "pay-in" && suffix == data.Status:
			s.applyPayin(data, event.CreatedAt, event.ID)
		case family == "refund" && suffix == data.Status:
			s.applyRefund(data, event.CreatedAt)
		case family == "dispute":
			s.applyDispute(data, event.CreatedAt)
		default:
			log.Printf("event %s %s with status %s is not for us", event.ID, event.Type, data.Status)
		}
		return nil
	})
}

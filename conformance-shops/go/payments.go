package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	mathrand "math/rand"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

const (
	callAttempts = 5
	longestWait  = 5 * time.Second // a customer does not wait longer for a rate limit; a background job goes on
)

// Outcome is what a call came to.
type Outcome string

const (
	ok       Outcome = "ok"       // carried out
	refused  Outcome = "refused"  // it never will be
	denied   Outcome = "denied"   // our credentials or address are not accepted
	conflict Outcome = "conflict" // the key belongs to another request
	later    Outcome = "later"    // not carried out, to be tried again
	unknown  Outcome = "unknown"  // nobody can tell
)

// Reply is an outcome, with the data of what was carried out.
type Reply struct {
	Outcome Outcome
	Data    json.RawMessage
	Reason  string
	limited bool
	wait    time.Duration
}

// Client calls the payment service.
type Client struct {
	http         http.Client
	mutex        sync.Mutex
	limitedUntil time.Time
	now          func() time.Time
}

// newClient takes what returns the shop's time.
func newClient(now func() time.Time) *Client {
	// Without kept connections: on those net/http repeats a request with an Idempotency-Key by itself, without a pause.
	transport := &http.Transport{DisableKeepAlives: true}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{now: now, http: http.Client{Timeout: callTimeout, Transport: transport, CheckRedirect: stay}}
}

// call is tried again with the same key and the same bytes while its outcome is open.
func (c *Client) call(method, path, key, body string) Reply {
	reply := Reply{Outcome: later, Reason: "rate limited"}
	doubtful := false
	for attempt := 0; attempt < callAttempts; attempt++ {
		if wait := c.untilFree(); wait > longestWait {
			reply = Reply{Outcome: later, Reason: fmt.Sprintf("rate limited for %s", wait)}
			break
		} else if wait > 0 {
			time.Sleep(wait)
		}
		if mistake("key-per-attempt") && key != "" {
			key = newKey()
		}
		reply = c.once(method, path, key, body)
		if reply.limited {
			if reply.wait <= 0 {
				reply.wait = pause(attempt)
			}
			c.limit(c.now().Add(reply.wait))
			if mistake("rate-limit-new-key") && key != "" {
				key = newKey()
			}
			continue
		}
		if reply.Outcome != unknown {
			break
		}
		doubtful = true
		if mistake("timeout-is-refusal") {
			reply.Outcome = refused
			return reply
		}
		if attempt+1 < callAttempts && !mistake("immediate-retries") {
			time.Sleep(pause(attempt))
		}
	}
	if doubtful && (reply.Outcome == denied || reply.Outcome == later) {
		reply.Outcome = unknown // this reply says nothing about the tries before
	}
	return reply
}

func (c *Client) limit(until time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.limitedUntil = until
}

func (c *Client) untilFree() time.Duration {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.limitedUntil.Sub(c.now())
}

func pause(attempt int) time.Duration {
	seconds := math.Pow(2, float64(attempt)) * (0.75 + mathrand.Float64()/2)
	return time.Duration(pauseScale * seconds * float64(time.Second))
}

func (c *Client) once(method, path, key, body string) Reply {
	request, err := http.NewRequest(method, apiURL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return Reply{Outcome: refused, Reason: err.Error()}
	}
	request.SetBasicAuth(apiKey, apiSecret)
	request.Header.Set("Accept", "application/json")
	if key != "" {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		log.Printf("%s %s: no reply: %v", method, path, err)
		return Reply{Outcome: unknown, Reason: err.Error()}
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, 10<<20))
	if err != nil {
		log.Printf("%s %s: half a reply: %v", method, path, err)
		return Reply{Outcome: unknown, Reason: err.Error()}
	}
	var answer struct {
		Success   bool            `json:"success"`
		Data      json.RawMessage `json:"data"`
		RequestID string          `json:"request_id"`
		Error     struct {
			Code      string `json:"code"`
			Message   string `json:"message"`
			RequestID string `json:"request_id"`
		} `json:"error"`
	}
	if err := json.Unmarshal(content, &answer); err != nil {
		log.Printf("%s %s: unreadable reply of %d bytes", method, path, len(content))
		answer.Success = false
	}
	requestID := response.Header.Get("X-Request-Id") + " " + answer.RequestID + " " + answer.Error.RequestID
	log.Printf("%s %s: %d (request %s)", method, path, response.StatusCode, requestID)
	reply := Reply{Outcome: unknown, Data: answer.Data}
	reply.Reason = fmt.Sprintf("%d %s: %s", response.StatusCode, answer.Error.Code, answer.Error.Message)
	switch status := response.StatusCode; {
	case status == 429:
		reply.Outcome, reply.limited, reply.wait = later, true, untilReset(response.Header.Get("X-RateLimit-Reset"), c.now())
	case status/100 == 2 && (answer.Success && len(answer.Data) > 0 && answer.Data[0] == '{'):
		reply.Outcome = ok
	case status/100 == 2 && mistake("success-not-checked"):
		reply.Outcome = ok
	case status == 400 || status == 404 || status == 422:
		reply.Outcome = refused
	case status == 401 || status == 403:
		reply.Outcome = denied
	case status == 409:
		reply.Outcome = conflict
	}
	return reply
}

// untilReset returns how long the limit lasts; the unit of the header is not documented, but can be told.
func untilReset(header string, now time.Time) time.Duration {
	value, err := strconv.ParseFloat(header, 64)
	if err != nil || value < 0 || value > 1e15 {
		return 0
	}
	switch {
	case mistake("rate-limit-in-seconds"):
		return time.Duration(math.Min(value, 1e9) * float64(time.Second))
	case value > 1e11:
		return time.UnixMilli(int64(value)).Sub(now)
	case value > 1e9:
		return time.Unix(int64(value), 0).Sub(now)
	}
	return time.Duration(value * float64(time.Second))
}

var errNotRead = errors.New("the list cannot be read now")

// everything returns all items of a list, page by page.
func everything[T any](c *Client, path string, query url.Values) ([]T, error) {
	var found []T
	query.Set("limit", "100")
	for {
		var page struct {
			Items      []T     `json:"items"`
			NextCursor *string `json:"next_cursor"`
		}
		reply := c.call(http.MethodGet, path+"?"+query.Encode(), "", "")
		if reply.Outcome != ok || json.Unmarshal(reply.Data, &page) != nil || page.Items == nil {
			return nil, errNotRead
		}
		found = append(found, page.Items...)
		if page.NextCursor == nil || *page.NextCursor == "" {
			return found, nil
		}
		query.Set("cursor", *page.NextCursor)
	}
}

// newKey returns a random UUID, version 4.
func newKey() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // a machine without randomness takes no payments
	}
	return uuidOf(b)
}

func uuidOf(b [16]byte) string {
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}

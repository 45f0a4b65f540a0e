package paydoubletest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

const (
	// More than a call to a local server needs.
	patience = 30 * time.Second
	// Moving a clock over three days of retries may take long.
	advancePatience = 10 * time.Minute
	largestPage     = "1000"
	instantLayout   = "2006-01-02T15:04:05.000Z"
)

// A client of its own: a test may replace the default one for the code under test.
var client = http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}

// A Document is a JSON object. Its numbers are of the type [Amount], which keeps their digits.
type Document = map[string]any

// An Amount is an exact decimal number, such as "49.90".
type Amount = json.Number

// A ControlError is a call that the control API has refused. Nothing was changed.
type ControlError struct {
	// Status is the HTTP status.
	Status int
	// Code is a stable name of the reason.
	Code string
	// Message says what was wrong.
	Message string
	// Member is the path of the member that was wrong, if the refusal is about one.
	Member string
}

// Error returns what was wrong, and where.
func (e *ControlError) Error() string {
	// Most messages name the member.
	if e.Member != "" && !strings.Contains(e.Message, e.Member) {
		return fmt.Sprintf("paydoubletest: %s: %s (%d %s)", e.Member, e.Message, e.Status, e.Code)
	}
	return fmt.Sprintf("paydoubletest: %s (%d %s)", e.Message, e.Status, e.Code)
}

// control makes calls of the control API for a test.
type control struct {
	t       testing.TB
	address Address
}

// exchange makes one call and returns the bytes of its answer.
func (c *control) exchange(ctx context.Context, method, path string, in any) ([]byte, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("paydoubletest: %s %s: %w", method, path, err)
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(c.address.URL, "/")+"/_paydouble"+path, body)
	if err != nil {
		return nil, fmt.Errorf("paydoubletest: the server's URL is wrong: %w", err)
	}
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.address.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.address.Token)
	}
	response, err := client.Do(request)
	if err != nil {
		var failed *url.Error // it repeats the method and the URL
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, fmt.Errorf("paydoubletest: no server answers at %s (%w); is it running, and at this address?", c.address.URL, err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("paydoubletest: %s %s: the answer broke off: %w", method, path, err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		return nil, refusal(response.StatusCode, method, path, answer)
	}
	return answer, nil
}

func refusal(status int, method, path string, answer []byte) error {
	var refused struct {
		Error struct{ Code, Message, Member string }
	}
	if err := json.Unmarshal(answer, &refused); err != nil || refused.Error.Code == "" {
		message := fmt.Sprintf("%s %s was answered with a text that is not paydouble's; is its address right?", method, path)
		return &ControlError{Status: status, Code: "not_paydouble", Message: message}
	}
	return &ControlError{status, refused.Error.Code, refused.Error.Message, refused.Error.Member}
}

func (c *control) call(ctx context.Context, method, path string, in, out any) error {
	answer, err := c.exchange(ctx, method, path, in)
	if err != nil || out == nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.UseNumber()
	if err := decoder.Decode(out); err != nil {
		return fmt.Errorf("paydoubletest: %s %s: the answer cannot be read: %w", method, path, err)
	}
	return nil
}

// ask makes a call and returns its answer, or ends the test.
func ask[T any](c *control, method, path string, in any) T {
	c.t.Helper()
	return askFor[T](c, patience, method, path, in)
}

func askFor[T any](c *control, limit time.Duration, method, path string, in any) T {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var out T
	if err := c.call(ctx, method, path, in, &out); err != nil {
		c.t.Fatal(err)
	}
	return out
}

// askText makes a call whose answer is no JSON.
func askText(c *control, method, path string, in any) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answer, err := c.exchange(ctx, method, path, in)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(answer)
}

// list returns all items of a list, page by page, or ends the test.
func list[T any](c *control, path string, query url.Values) []T {
	c.t.Helper()
	items, err := listAll[T](c, path, query)
	if err != nil {
		c.t.Fatal(err)
	}
	return items
}

func listAll[T any](c *control, path string, query url.Values) ([]T, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	page := url.Values{"limit": {largestPage}}
	for name, values := range query {
		page[name] = values
	}
	var items []T
	for {
		var answer struct {
			Items      []T    `json:"items"`
			NextCursor string `json:"next_cursor"`
		}
		if err := c.call(ctx, "GET", path+"?"+page.Encode(), nil, &answer); err != nil {
			return nil, err
		}
		items = append(items, answer.Items...)
		if answer.NextCursor == "" {
			return items, nil
		}
		page.Set("cursor", answer.NextCursor)
	}
}

// isGone reports whether an error says that the thing of a call does not exist any more.
func isGone(err error) bool {
	var refused *ControlError
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound
}

// segment returns a text as one segment of a path.
func segment(text string) string { return url.PathEscape(text) }

// jsonValue returns a value as the control API reads it: durations and instants as texts, all else unchanged.
func jsonValue(value any) any {
	switch value := value.(type) {
	case time.Duration:
		return formatDuration(value)
	case time.Time:
		return value.UTC().Format(instantLayout)
	case []time.Duration:
		texts := make([]string, len(value))
		for i, each := range value {
			texts[i] = formatDuration(each)
		}
		return texts
	}
	return value
}

// formatDuration writes whole milliseconds with the largest unit first: 3d, 1h30m, 250ms.
func formatDuration(d time.Duration) string {
	rest, text := d.Milliseconds(), ""
	if rest < 0 {
		return d.String() // the server says what is wrong with it
	}
	for _, unit := range []struct {
		name         string
		milliseconds int64
	}{{"d", 86_400_000}, {"h", 3_600_000}, {"m", 60_000}, {"s", 1_000}, {"ms", 1}} {
		if count := rest / unit.milliseconds; count > 0 {
			text += fmt.Sprintf("%d%s", count, unit.name)
			rest %= unit.milliseconds
		}
	}
	if text == "" {
		return "0s"
	}
	return text
}

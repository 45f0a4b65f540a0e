package paydoubletest_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	pd "github.com/paydouble/paydouble/clients/go/paydoubletest"
)

func TestASignatureIsVerifiedAsTheContractSays(t *testing.T) {
	t.Parallel()
	now := time.Unix(1767225600, 0)
	body := []byte(`{"amount":49.90}`)
	good := pd.Sign(body, "whsec", now)
	at, digest, _ := strings.Cut(good, ",v1=")
	for name, test := range map[string]struct {
		header string
		now    time.Time
		want   error
	}{
		"as signed":              {good, now, nil},
		"at the edge":            {good, now.Add(300 * time.Second), nil},
		"early at the edge":      {good, now.Add(-300 * time.Second), nil},
		"too old":                {good, now.Add(301 * time.Second), pd.ErrSignatureExpired},
		"from the future":        {good, now.Add(-301 * time.Second), pd.ErrSignatureExpired},
		"in another order":       {"v1=" + digest + "," + at, now, nil},
		"with an unknown scheme": {good + ",v0=abc", now, nil},
		"with two secrets":       {at + ",v1=" + strings.Repeat("0", 64) + ",v1=" + digest, now, nil},
		"with spaces around it":  {" " + good + " ", now, nil},
		"missing":                {"", now, pd.ErrSignatureMissing},
		"blank":                  {"  ", now, pd.ErrSignatureMissing},
		"without a time":         {"v1=" + digest, now, pd.ErrSignatureMalformed},
		"with an empty time":     {"t=,v1=" + digest, now, pd.ErrSignatureMalformed},
		"with a signed time":     {"t=+1767225600,v1=" + digest, now, pd.ErrSignatureMalformed},
		"with a huge time":       {"t=99999999999999999999,v1=" + digest, now, pd.ErrSignatureMalformed},
		"with two times":         {at + "," + good, now, pd.ErrSignatureMalformed},
		"without a digest":       {at, now, pd.ErrSignatureMalformed},
		"with an empty digest":   {at + ",v1=", now, pd.ErrSignatureMalformed},
		"with another digest":    {at + ",v1=" + strings.Repeat("0", 64), now, pd.ErrSignatureMismatch},
		"in capitals":            {at + ",v1=" + strings.ToUpper(digest), now, pd.ErrSignatureMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			if err := pd.VerifySignature(body, test.header, "whsec", test.now); !errors.Is(err, test.want) {
				t.Errorf("%q: %v, not %v", test.header, err, test.want)
			}
		})
	}
	if err := pd.VerifySignature([]byte(`{"amount":49.9}`), good, "whsec", now); !errors.Is(err, pd.ErrSignatureMismatch) {
		t.Errorf("another body: %v", err)
	}
	if err := pd.VerifySignature(body, good, " ", now); err == nil {
		t.Error("a blank secret has verified something")
	}
}

// The double signs, and the receiver verifies: each mode of the fault is refused, or accepted, as it should be.
func TestEachModeOfABrokenSignature(t *testing.T) {
	t.Parallel()
	for mode, status := range map[string]int{
		"missing": 400, "empty": 400, "malformed": 400, "non_ascii": 401, "wrong_secret": 401, "stale": 400,
		"future": 400, "v0_only": 400, "two_v1": 200, "uppercase": 401, "reordered": 200,
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			box := pd.New(t)
			receiver := box.Receive()
			box.Faults.Signature(mode, pd.Attempt(1))
			box.Webhook.Test("pay-in.succeeded")
			if got := receiver.Wait(t, 1, pd.Within(time.Minute))[0]; got.Status != status {
				t.Errorf("it was answered %d: %v", got.Status, got.Err)
			}
		})
	}
}

package paydoubletest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// SignatureHeader is the header of a webhook's signature.
const SignatureHeader = "X-Service-Signature"

// SignatureTolerance is how far the time of a signature may differ from now.
const SignatureTolerance = 300 * time.Second

// Why a signature does not verify.
var (
	ErrSignatureMissing   = errors.New("there is no signature header")
	ErrSignatureMalformed = errors.New("the signature header is malformed")
	ErrSignatureExpired   = errors.New("the time of the signature is out of tolerance")
	ErrSignatureMismatch  = errors.New("the signature does not fit the body and the secret")
)

// Sign returns the signature header of a body: the time, and the HMAC-SHA256 of the time, a dot and the body.
func Sign(body []byte, secret string, at time.Time) string {
	seconds := strconv.FormatInt(at.Unix(), 10)
	return "t=" + seconds + ",v1=" + digest(body, secret, seconds)
}

// VerifySignature checks a signature header against the exact bytes of a body. The header may have several v1, as
// during the rotation of a secret; one must fit. Parts with other names are ignored.
func VerifySignature(body []byte, header, secret string, now time.Time) error {
	if strings.TrimSpace(secret) == "" {
		return errors.New("the webhook secret is blank; give the one that the sandbox has")
	}
	if strings.TrimSpace(header) == "" {
		return ErrSignatureMissing
	}
	var times, digests []string
	for _, part := range strings.Split(strings.TrimSpace(header), ",") {
		switch name, value, _ := strings.Cut(part, "="); {
		case name == "t":
			times = append(times, value)
		case name == "v1" && value != "":
			digests = append(digests, value)
		}
	}
	if len(times) != 1 || len(digests) == 0 {
		return fmt.Errorf("%w: it has %d times and %d v1", ErrSignatureMalformed, len(times), len(digests))
	}
	if strings.Trim(times[0], "0123456789") != "" {
		return fmt.Errorf("%w: t is %q", ErrSignatureMalformed, times[0])
	}
	seconds, err := strconv.ParseInt(times[0], 10, 64)
	if err != nil {
		return fmt.Errorf("%w: t is %q", ErrSignatureMalformed, times[0])
	}
	if apart := now.Unix() - seconds; max(apart, -apart) > int64(SignatureTolerance/time.Second) {
		return fmt.Errorf("%w: it differs from now by %d s", ErrSignatureExpired, max(apart, -apart))
	}
	wanted := []byte(digest(body, secret, times[0]))
	for _, each := range digests {
		if hmac.Equal([]byte(each), wanted) {
			return nil
		}
	}
	return fmt.Errorf("%w; check that the body has the bytes as they came, and that the secret is the webhook secret "+
		"of the sandbox", ErrSignatureMismatch)
}

func digest(body []byte, secret, seconds string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(seconds + "."))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// refusalStatus is what a receiver answers to a signature that does not verify.
func refusalStatus(err error) int {
	if errors.Is(err, ErrSignatureMismatch) {
		return http.StatusUnauthorized
	}
	return http.StatusBadRequest
}

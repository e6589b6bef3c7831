// Package bodymac signs requests with a keyed hash (RFC 2104) of their body and
// what else the scheme of a webhook or an API takes in, such as the time.
//
// The hash stands in a header, which goes ahead of the body, so the body is
// kept until all of it is there; what is longer than the binding permits is
// refused, never cut.
package bodymac

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport/sallyport/inject"
)

// Signer is the [inject.Signer] of [inject.KindHMAC]. The zero value is ready.
type Signer struct{}

var _ inject.Signer = Signer{}

// defaultBody is how long a body may be, unless the binding says otherwise.
const defaultBody = 1 << 20

var hashes = map[string]func() hash.Hash{
	"": sha256.New, "sha256": sha256.New, "sha1": sha1.New, "sha512": sha512.New,
}

var encodings = map[string]func([]byte) string{
	"": hex.EncodeToString, "hex": hex.EncodeToString,
	"base64": base64.StdEncoding.EncodeToString, "base64url": base64.RawURLEncoding.EncodeToString,
}

// Sign implements [inject.Signer].
func (Signer) Sign(_ context.Context, r *http.Request, with inject.Signing) error {
	var o inject.HMAC
	if with.Options.HMAC != nil {
		o = *with.Options.HMAC
	}
	body, err := inject.Whole(r, cmp.Or(o.MaxBody, defaultBody))
	if err != nil {
		return err
	}
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(hashes[o.Hash], with.Secret.Reveal())
	write(mac, cmp.Or(o.Message, "{body}"), map[string][]byte{
		"body": body, "timestamp": []byte(timestamp),
		"method": []byte(r.Method), "path": []byte(r.URL.RequestURI()),
	})
	value := strings.ReplaceAll(with.Format, "{timestamp}", timestamp)
	value = strings.ReplaceAll(value, "{value}", encodings[o.Encoding](mac.Sum(nil)))
	set(r.Header, with.Header, value)
	if o.TimestampHeader != "" {
		set(r.Header, http.CanonicalHeaderKey(o.TimestampHeader), timestamp)
	}
	return nil
}

// write writes a message, its fields replaced. What stands in a field is never
// taken for another.
func write(w io.Writer, message string, fields map[string][]byte) {
	for message != "" {
		open := strings.IndexByte(message, '{')
		end := strings.IndexByte(message[max(open, 0):], '}') + max(open, 0)
		if open < 0 || end < open {
			break
		}
		text, known := fields[message[open+1:end]]
		if !known {
			_, _ = io.WriteString(w, message[:open+1])
			message = message[open+1:]
			continue
		}
		_, _ = io.WriteString(w, message[:open])
		_, _ = w.Write(text)
		message = message[end+1:]
	}
	_, _ = io.WriteString(w, message)
}

// set sets a header and takes off its other spellings, which a server may take
// for the same.
func set(h http.Header, name, value string) {
	plain := strings.ReplaceAll(name, "_", "-")
	for key := range h {
		if strings.EqualFold(strings.ReplaceAll(key, "_", "-"), plain) {
			delete(h, key)
		}
	}
	h[name] = []string{value}
}

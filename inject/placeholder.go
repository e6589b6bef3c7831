package inject

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"
)

// Key is the secret from which placeholders are derived. A new one per edge
// process makes every placeholder of an earlier boot unknown.
type Key [32]byte

// shape is how a placeholder looks: a fixed prefix and then digits. One shape
// serves every binding; shapes that satisfy a client's own format check
// (ghp_…) are further values.
type shape struct {
	prefix string
	// digits is the count of characters after the prefix, 5 bits each.
	digits int
}

// defaultShape is visibly no credential to a human, and its 130 bits can't be
// guessed. Lower case alone, so that it survives whatever folds case.
var defaultShape = shape{prefix: "sp_ph_", digits: 26}

var digitEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// length returns the length in bytes of a placeholder of this shape.
func (s shape) length() int { return len(s.prefix) + s.digits }

// derive returns the placeholder of the variable env of the boundary id. It
// depends on neither the secret nor its reference (SI-8).
func (s shape) derive(key Key, id, env string) string {
	mac := hmac.New(sha256.New, key[:])
	for _, part := range []string{"sallyport placeholder 1", id, env} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		mac.Write(size[:])
		mac.Write([]byte(part))
	}
	digits := strings.ToLower(digitEncoding.EncodeToString(mac.Sum(nil)))
	return s.prefix + digits[:s.digits]
}

// next returns the first text in s that has this shape, and what follows it;
// found is false if there is none. Its digits may be anything.
func (s shape) next(text string) (candidate, rest string, found bool) {
	i := strings.Index(text, s.prefix)
	if i < 0 || len(text)-i < s.length() {
		return "", "", false
	}
	// After a miss the search goes on behind the prefix, not behind the
	// digits: a second placeholder may begin among them.
	return text[i : i+s.length()], text[i+len(s.prefix):], true
}

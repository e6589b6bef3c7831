// Package id makes the identifiers of the control API: a prefix that says what
// a thing is, an underscore and a ULID.
//
// Ids made one after the other sort in that order, also within a millisecond
// and when the clock steps back. Lists page by them, so whoever stores a new
// thing makes its id inside the transaction that stores it.
package id

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// The prefixes.
const (
	Environment  = "env"
	Image        = "img"
	Key          = "key"
	Organization = "org"
	Request      = "req"
	Sandbox      = "sbx"
	Session      = "ses"
	SetupRun     = "srun"
	User         = "usr"
)

// A Source makes ids. The zero value is ready; it is safe for concurrent use.
type Source struct {
	mu      sync.Mutex
	entropy *ulid.MonotonicEntropy
	latest  uint64
}

// New returns an id of the kind that prefix names, such as
// env_01ARZ3NDEKTSV4RRFFQ69G5FAV.
func (s *Source) New(prefix string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entropy == nil {
		s.entropy = ulid.Monotonic(rand.Reader, 0)
	}
	s.latest = max(s.latest, ulid.Timestamp(time.Now()))
	made, err := ulid.New(s.latest, s.entropy)
	if err != nil { // the millisecond's numbers are used up
		s.latest++
		made = ulid.MustNew(s.latest, s.entropy)
	}
	return prefix + "_" + made.String()
}

// Valid reports whether s is an id of the kind that prefix names.
func Valid(prefix, s string) bool {
	if len(s) != len(prefix)+1+ulid.EncodedSize || s[:len(prefix)] != prefix || s[len(prefix)] != '_' {
		return false
	}
	_, err := ulid.ParseStrict(s[len(prefix)+1:])
	return err == nil
}

// Package boundary is the one value that says all that may cross between a
// sandbox and the world: who it is, its compiled policy, its bindings, its
// grants of git, limits. Every flow begins by looking it up.
//
// A [Spec] is the wire form that sandboxd or a configuration file sends;
// [Compile] makes the immutable [Boundary]; the [Table] holds one per id.
//
// Security promise: no boundary, no crossing. A Table that has just been made
// knows nobody, and a Spec that doesn't compile leaves the table as it was.
package boundary

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/policy"
)

// Spec is the wire form of a boundary. ID is required; an absent policy denies
// every host. It is decoded strictly (package edge/strict) by whoever reads it.
type Spec struct {
	ID            string           `json:"id"`
	NetworkPolicy policy.Document  `json:"network_policy"`
	Bindings      []inject.Binding `json:"bindings,omitempty"`
	// Git are the repositories whose credentials the broker hands out.
	Git []broker.Grant `json:"git,omitempty"`
	// TokenSHA256 is the hex digest of the token that proves this boundary in
	// proxy credentials; empty means that only its own listeners do.
	TokenSHA256 string `json:"token_sha256,omitempty"`
	// TokenExpires is when that token stops to count; zero means when the
	// boundary closes.
	TokenExpires time.Time `json:"token_expires_at,omitzero"`
	// Labels (session, environment, …) are copied into each audit record.
	Labels map[string]string `json:"labels,omitempty"`
	Limits Limits            `json:"limits,omitzero"`
	// Observe lets through, and records as observed, what the policy denies.
	// All else is enforced, and a host with a binding stays denied.
	Observe bool `json:"observe,omitempty"`
}

// Boundary is a compiled Spec: immutable, safe for concurrent use.
type Boundary struct {
	ID         string
	Policy     *policy.Policy
	Bindings   *inject.Set
	Git        *broker.Grants
	Labels     map[string]string
	Limits     Limits
	Observe    bool
	Generation uint64 // grows with each replacement in a Table; 0 before it

	token    *[sha256.Size]byte // nil: no token proves it
	expires  time.Time
	replaced chan struct{}
	closed   chan struct{} // of all boundaries of one opening
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// ValidateID says whether id can name a boundary: 1 to 128 letters, digits,
// '.', '_' and '-', the first a letter or digit. Such an id is safe in a path,
// a file name and the user part of a URL.
func ValidateID(id string) error {
	if !idForm.MatchString(id) {
		return fmt.Errorf("%.40q: expected 1 to 128 letters, digits, '.', '_' or '-', beginning with a letter or digit", id)
	}
	return nil
}

// Error says what is wrong with a Spec and where. Path is a JSON path below the
// Spec, such as "network_policy.rules[3].match.host_glob".
type Error struct {
	Path string
	Msg  string
}

func (e *Error) Error() string { return e.Path + ": " + e.Msg }

// Compile checks the whole of spec and makes its Boundary. Placeholders are
// derived from key. The error is an *[Error].
func Compile(spec Spec, key inject.Key) (*Boundary, error) {
	if err := ValidateID(spec.ID); err != nil {
		return nil, &Error{"id", err.Error()}
	}
	compiled, err := policy.Compile(spec.NetworkPolicy)
	if err != nil {
		return nil, policyError(err)
	}
	grants, err := broker.Compile(spec.Git)
	if err != nil {
		return nil, grantError(err)
	}
	bindings, err := inject.Compile(spec.ID, withGit(spec.Bindings, grants), key)
	if err != nil {
		return nil, bindingError(err)
	}
	token, err := decodeToken(spec.TokenSHA256)
	if err != nil {
		return nil, &Error{"token_sha256", err.Error()}
	}
	if err := spec.Limits.Check(); err != nil {
		return nil, limitsError(err)
	}
	return &Boundary{
		ID:       spec.ID,
		Policy:   compiled,
		Bindings: bindings,
		Git:      grants,
		Labels:   maps.Clone(spec.Labels),
		Limits:   spec.Limits,
		Observe:  spec.Observe,
		token:    token,
		expires:  spec.TokenExpires,
	}, nil
}

// withGit adds the placeholders that grants of git need.
func withGit(bindings []inject.Binding, grants *broker.Grants) []inject.Binding {
	all := slices.Clone(bindings)
	for _, env := range grants.Placeholders() {
		all = append(all, inject.Binding{Kind: inject.KindGit, Env: env, Shape: tokenShape(env)})
	}
	return all
}

// tokenShape is what the programs that read a variable take for a token; empty
// is the default.
func tokenShape(env string) string {
	switch {
	case strings.HasPrefix(env, "GH_"), strings.HasPrefix(env, "GITHUB_"):
		return "github-app"
	case strings.HasPrefix(env, "GITLAB_"):
		return "gitlab"
	}
	return ""
}

func policyError(err error) *Error {
	var e *policy.Error
	if errors.As(err, &e) && e.Path != "" {
		return &Error{"network_policy." + e.Path, e.Msg}
	}
	return &Error{"network_policy", err.Error()}
}

func limitsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return &Error{"limits." + e.Path, e.Msg}
	}
	return &Error{"limits", err.Error()}
}

func bindingError(err error) *Error {
	var e *inject.BindingError
	if errors.As(err, &e) && e.Path != "" {
		return &Error{e.Path, e.Msg}
	}
	return &Error{"bindings", err.Error()}
}

func grantError(err error) *Error {
	var e *broker.GrantError
	if errors.As(err, &e) {
		return &Error{e.Path, e.Msg}
	}
	return &Error{"git", err.Error()}
}

// Replaced returns a channel that is closed once the Table no longer holds
// this very boundary, because another one took its place or it was deleted. A
// tunnel that waits on it looks its boundary up again, and ends if the host
// isn't allowed any more (decision 27). It is nil, so blocks for ever, for a
// boundary that no Table returned.
func (b *Boundary) Replaced() <-chan struct{} { return b.replaced }

// Closed returns a channel that is closed once the boundary's id has left the
// Table. It stays the same when the boundary is replaced, so it also tells one
// opening of an id from the next. It is nil for a boundary that no Table
// returned.
func (b *Boundary) Closed() <-chan struct{} { return b.closed }

// proves reports whether a token with the given digest proves b at the time
// now. It takes the same time whichever byte differs.
func (b *Boundary) proves(digest *[sha256.Size]byte, now time.Time) bool {
	stored := b.token
	if stored == nil {
		stored = &[sha256.Size]byte{}
	}
	same := subtle.ConstantTimeCompare(stored[:], digest[:]) == 1
	return same && b.token != nil && (b.expires.IsZero() || now.Before(b.expires))
}

func decodeToken(digest string) (*[sha256.Size]byte, error) {
	if digest == "" {
		return nil, nil
	}
	raw, err := hex.DecodeString(digest)
	if err != nil || len(raw) != sha256.Size {
		return nil, errors.New("expected 64 hexadecimal digits")
	}
	return (*[sha256.Size]byte)(raw), nil
}

// TokenDigest returns the Spec.TokenSHA256 of a token.
func TokenDigest(token []byte) string {
	sum := sha256.Sum256(token)
	return hex.EncodeToString(sum[:])
}

package inject

import (
	"context"
	"net/http"

	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

// Mode says how a binding writes its header.
type Mode string

const (
	// ModePlaceholder replaces each occurrence of the placeholder in the bound
	// header. It is the default.
	ModePlaceholder Mode = "placeholder"
	// ModeSet sets the header on every request to the host, whether or not the
	// client sent it.
	ModeSet Mode = "set"
)

// Binding is the wire and configuration form of one binding. Env, Host and
// Secret are required; Env names the variable that carries the placeholder.
type Binding struct {
	Env    string `json:"env"`
	Host   string `json:"host"`
	Port   uint16 `json:"port,omitempty"`   // 0 means 443
	Header string `json:"header,omitempty"` // empty means Authorization
	Mode   Mode   `json:"mode,omitempty"`   // empty means ModePlaceholder
	Format string `json:"format,omitempty"` // ModeSet only; "{value}" stands for the secret
	Secret string `json:"secret"`           // a secret.Ref, "store:api-token"
}

// Key is the secret from which placeholders are derived. A new one per edge
// process makes every placeholder of an earlier boot unknown.
type Key [32]byte

// Destination is where a request goes: the agreed authority of its tunnel.
type Destination struct {
	Scheme string // "https" or "http"
	Host   policy.Host
	Port   uint16
}

// Set is the compiled bindings of one boundary. It is immutable and safe for
// concurrent use; nil is a Set without bindings.
type Set struct{}

// Compile checks the bindings of the boundary named id and derives a
// placeholder for each (HMAC of key, id and binding). Two bindings for the
// same host, port and header, and headers that reflect or route (decision 22),
// are errors.
func Compile(id string, bindings []Binding, key Key) (*Set, error) { return &Set{}, nil }

// Env returns the placeholders by variable name, ready for a sandbox's
// environment.
func (s *Set) Env() map[string]string { return nil }

// Binds reports whether any binding has this destination.
func (s *Set) Binds(host policy.Host, port uint16) bool { return false }

// Apply rewrites the headers of r for dest. It returns what it injected, or an
// error for which r must not be sent: a *[MisuseError] for a placeholder in
// the wrong place, else one of the errors of package secret.
func (s *Set) Apply(ctx context.Context, r *http.Request, dest Destination, from *Resolver) (Injection, error) {
	return Injection{}, secret.ErrUnavailable
}

// Injection names what Apply wrote, never the values: safe to log (SI-18).
type Injection struct {
	Injected []Injected
}

// Injected is one rewritten header.
type Injected struct {
	Env     string `json:"env"`
	Secret  string `json:"secret"`
	Header  string `json:"header"`
	Version string `json:"version,omitempty"`
}

// MisuseError: a placeholder of this boundary was found in a request to a
// destination that it isn't bound to, or over plain HTTP.
type MisuseError struct {
	Env   string // whose placeholder
	Where string // "header X-Name", "url"
}

func (e *MisuseError) Error() string {
	return "placeholder of " + e.Env + " in " + e.Where + " of a request it is not bound to"
}

// Resolver reads secrets for Apply: it picks the source by kind, coalesces
// concurrent reads and caches for a short time (decision 21).
type Resolver struct{}

// NewResolver returns a Resolver over the given sources by kind ("env",
// "file", "store", …). The map is not copied and must not change.
func NewResolver(sources map[string]secret.Source) *Resolver { return &Resolver{} }

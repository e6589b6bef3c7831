package inject

import (
	"fmt"
	"regexp"
	"strings"

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
	// client sent it, and removes what the client sent.
	ModeSet Mode = "set"
)

const (
	defaultPort   = 443
	defaultHeader = "Authorization"
	// valueMark stands for the secret in a Format.
	valueMark = "{value}"
)

// Binding is the wire and configuration form of one binding. Env, Host and
// Secret are required; Env names the variable that carries the placeholder.
// Bindings with the same Env share its placeholder, so that one variable can
// serve several hosts.
//
// JSON is decoded strictly: unknown and duplicate keys, nulls and wrong types
// are a *[BindingError].
type Binding struct {
	Env    string `json:"env"`
	Host   string `json:"host"`             // exact: no globs, no IP literals
	Port   uint16 `json:"port,omitempty"`   // 0 means 443
	Header string `json:"header,omitempty"` // empty means Authorization
	Mode   Mode   `json:"mode,omitempty"`   // empty means ModePlaceholder
	Format string `json:"format,omitempty"` // ModeSet only; "{value}" stands for the secret; empty means "{value}"
	Secret string `json:"secret"`           // a secret.Ref, "store:api-token"
	// AllowCookie permits Header to be Cookie. Origins answer cookies with
	// cookies, which hands the sandbox a session of the secret's owner.
	AllowCookie bool `json:"allow_cookie,omitempty"`
}

// BindingError says what is wrong with a binding and where. Path is a JSON
// path, such as "bindings[3].host"; from the decoder of a single Binding it
// starts below the binding.
type BindingError struct {
	Path string
	Msg  string
}

func (e *BindingError) Error() string {
	if e.Path == "" {
		return e.Msg
	}
	return e.Path + ": " + e.Msg
}

// envSyntax is what a variable is called (SI-29).
var envSyntax = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// endpoint is where a binding applies, and nowhere else.
type endpoint struct {
	host policy.Host
	port uint16
}

// bound is a checked binding.
type bound struct {
	env         string
	placeholder string
	at          endpoint
	header      string // canonical
	mode        Mode
	format      string // ModeSet only, holds valueMark
	ref         secret.Ref
}

// compile checks b by itself. The error's path is below the binding.
func (b Binding) compile() (*bound, *BindingError) {
	if !envSyntax.MatchString(b.Env) {
		return nil, &BindingError{"env", "want the name of a variable: letters, digits and _, not starting with a digit, at most 128"}
	}
	host, err := exactHost(b.Host)
	if err != nil {
		return nil, err
	}
	ref, refErr := secret.ParseRef(b.Secret)
	if refErr != nil {
		return nil, &BindingError{"secret", refErr.Error()}
	}
	c := &bound{env: b.Env, at: endpoint{host, b.Port}, mode: b.Mode, ref: ref}
	if c.at.port == 0 {
		c.at.port = defaultPort
	}
	if c.header, err = bindableHeader(b.Header, b.AllowCookie); err != nil {
		return nil, err
	}
	if c.format, err = b.compileFormat(); err != nil {
		return nil, err
	}
	if c.mode == "" {
		c.mode = ModePlaceholder
	}
	return c, nil
}

// exactHost refuses globs and IP literals, which never carry a secret
// (decision 3).
func exactHost(s string) (policy.Host, *BindingError) {
	if strings.ContainsAny(s, "*?[]{}!") || strings.HasPrefix(s, ".") {
		return policy.Host{}, &BindingError{"host", "a secret is bound to exactly one host: no globs and no addresses"}
	}
	host, err := policy.CanonicalHost(s)
	switch {
	case err != nil:
		return policy.Host{}, &BindingError{"host", err.Error()}
	case host.IP().IsValid():
		return policy.Host{}, &BindingError{"host", "an IP address never carries a secret: bind a host name"}
	}
	return host, nil
}

// compileFormat checks mode and format together and fills in the default.
func (b Binding) compileFormat() (string, *BindingError) {
	switch b.Mode {
	case "", ModePlaceholder:
		if b.Format != "" {
			return "", &BindingError{"format", fmt.Sprintf("only mode %q has a format", ModeSet)}
		}
		return "", nil
	case ModeSet:
		if b.Format == "" {
			return valueMark, nil
		}
		if strings.Count(b.Format, valueMark) != 1 {
			return "", &BindingError{"format", "want " + valueMark + " exactly once"}
		}
		if err := secret.CheckHeader([]byte(b.Format)); err != nil {
			return "", &BindingError{"format", err.Error()}
		}
		return b.Format, nil
	default:
		return "", &BindingError{"mode", fmt.Sprintf("want %q or %q", ModePlaceholder, ModeSet)}
	}
}

package inject

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/shape"
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

// OnMisuse says what becomes of a request with a placeholder in a header or URL
// where it isn't bound.
type OnMisuse string

const (
	OnMisuseRefuse  OnMisuse = "refuse"  // the default
	OnMisuseForward OnMisuse = "forward" // as it is, inert, with a note in the record
)

// InBody says what becomes of a request with the placeholder in its body.
type InBody string

const (
	InBodyLog    InBody = "log"    // the default: sent as it is, inert, with a note in the record
	InBodyStrict InBody = "strict" // broken off before the placeholder is out
)

const (
	defaultPort   = 443
	defaultHeader = "Authorization"
	// valueMark stands for the secret in a Format.
	valueMark = "{value}"
)

// Binding is the wire and configuration form of one binding. Env, Host and
// Secret are required, for KindHoney Env alone; Env names the variable that
// carries the placeholder. Bindings with the same Env share its placeholder and
// its shape, so that one variable can serve several hosts.
//
// JSON is decoded strictly: unknown and duplicate keys, nulls and wrong types
// are a *[BindingError].
type Binding struct {
	Kind   Kind   `json:"kind,omitempty"` // empty means KindSecret
	Env    string `json:"env,omitempty"`
	Host   string `json:"host,omitempty"`   // exact: no globs, no IP literals
	Port   uint16 `json:"port,omitempty"`   // 0 means 443
	Header string `json:"header,omitempty"` // empty means Authorization
	Mode   Mode   `json:"mode,omitempty"`   // empty means ModePlaceholder
	Format string `json:"format,omitempty"` // ModeSet only; "{value}" stands for the secret; empty means "{value}"
	Secret string `json:"secret,omitempty"` // a secret.Ref, "store:api-token"
	// AllowCookie permits Header to be Cookie. Origins answer cookies with
	// cookies, which hands the sandbox a session of the secret's owner.
	AllowCookie bool `json:"allow_cookie,omitempty"`
	// Shape is what the placeholder looks like: a name of package shape, or
	// "custom" with a Pattern as shape.Parse reads it; empty means
	// shape.Default.
	Shape   string `json:"shape,omitempty"`
	Pattern string `json:"pattern,omitempty"`
	// Match limits the binding to some of the requests to Host; nil means all.
	Match    *Match   `json:"match,omitempty"`
	OnMisuse OnMisuse `json:"on_misuse,omitempty"` // empty means OnMisuseRefuse
	InBody   InBody   `json:"in_body,omitempty"`   // empty means InBodyLog
	Budget   *Budget  `json:"budget,omitempty"`    // nil: without bounds
	// Options of the kinds that have any; nil for every other kind.
	AWS    *AWS            `json:"aws,omitempty"`
	HMAC   *HMAC           `json:"hmac,omitempty"`
	OAuth2 *OAuth2         `json:"oauth2,omitempty"`
	Google *ServiceAccount `json:"google,omitempty"`
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
	kind        Kind
	env         string
	shape       shape.Shape
	placeholder string
	forward     bool // OnMisuseForward
	strict      bool // InBodyStrict
	match       *matcher
	at          endpoint
	header      string // canonical; empty for KindCertificate
	mode        Mode
	format      string           // ModeSet only, holds valueMark
	secret      *held            // nil for KindHoney
	more        map[string]*held // by part
	companion   *bound           // nil: none
	options     Binding          // as it was written
	certificate atomic.Pointer[Certificate]
}

// compile checks b by itself. The error's path is below the binding.
func (b Binding) compile() (*bound, *BindingError) {
	if !envSyntax.MatchString(b.Env) {
		return nil, &BindingError{"env", "want the name of a variable: letters, digits and _, not starting with a digit, at most 128"}
	}
	c := &bound{kind: cmp.Or(b.Kind, KindSecret), env: b.Env, mode: ModePlaceholder, options: b, more: map[string]*held{}}
	if c.kind == KindAWS && b.Shape == "" {
		b.Shape = "aws-access-key-id"
	}
	if err := b.compileHandling(c); err != nil {
		return nil, err
	}
	if c.kind.alone() {
		return c, b.checkHoney()
	}
	if err := b.Budget.check(); err != nil {
		return nil, err
	}
	further, known := kinds[c.kind]
	if !known {
		return nil, &BindingError{"kind", "want one of " + kindNames()}
	}
	if err := b.checkOptions(c.kind); err != nil {
		return nil, err
	}
	if err := b.compileSecret(c); err != nil {
		return nil, err
	}
	return c, further(b, c)
}

// compileSecret checks where the secret goes and where it comes from.
func (b Binding) compileSecret(c *bound) *BindingError {
	host, err := exactHost(b.Host)
	if err != nil {
		return err
	}
	c.at = endpoint{host, cmp.Or(b.Port, defaultPort)}
	ref, refErr := secret.ParseRef(b.Secret)
	if refErr != nil {
		return &BindingError{"secret", refErr.Error()}
	}
	c.secret = &held{ref: ref, name: ref.String()}
	if c.kind != KindCertificate {
		if c.header, err = bindableHeader(b.Header, b.AllowCookie); err != nil {
			return err
		}
	}
	if c.kind == KindHMAC {
		b.Mode = ModeSet
	}
	if c.format, err = b.compileFormat(); err != nil {
		return err
	}
	c.mode = cmp.Or(b.Mode, ModePlaceholder)
	c.match, err = b.Match.compile()
	return err
}

// compileHandling checks how the placeholder looks and what becomes of it where
// it isn't bound.
func (b Binding) compileHandling(c *bound) *BindingError {
	switch b.OnMisuse {
	case "", OnMisuseRefuse, OnMisuseForward:
		c.forward = b.OnMisuse == OnMisuseForward
	default:
		return &BindingError{"on_misuse", fmt.Sprintf("want %q or %q", OnMisuseRefuse, OnMisuseForward)}
	}
	switch b.InBody {
	case "", InBodyLog, InBodyStrict:
		c.strict = b.InBody == InBodyStrict
	default:
		return &BindingError{"in_body", fmt.Sprintf("want %q or %q", InBodyLog, InBodyStrict)}
	}
	if b.Shape == shape.Custom {
		var err error
		if c.shape, err = shape.Parse(b.Pattern); err != nil {
			return &BindingError{"pattern", err.Error()}
		}
		return nil
	}
	var known bool
	c.shape, known = shape.Named(b.Shape)
	switch {
	case !known:
		return &BindingError{"shape", "want " + shape.Custom + ", " + strings.Join(shape.Names(), ", ")}
	case b.Pattern != "":
		return &BindingError{"pattern", fmt.Sprintf("only shape %q has a pattern", shape.Custom)}
	}
	return nil
}

// checkHoney refuses what a honey placeholder can't have.
func (b Binding) checkHoney() *BindingError {
	b.Kind, b.Env, b.Shape, b.Pattern, b.InBody = "", "", "", "", ""
	if b != (Binding{}) {
		return &BindingError{"kind", "a honey placeholder is bound to nothing: it has a variable and a shape only"}
	}
	return nil
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

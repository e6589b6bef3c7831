package inject

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/inject/shape"
	"github.com/sallyport/sallyport/policy"
)

// AWS are the options of [KindAWS]. Env of the binding holds the placeholder of
// the access key id.
type AWS struct {
	// AccessKeyID, or AccessKeyIDSecret, a secret.Ref, is the real id, unless
	// the secret holds the whole key pair.
	AccessKeyID       string `json:"access_key_id,omitempty"`
	AccessKeyIDSecret string `json:"access_key_id_secret,omitempty"`
	// SessionTokenSecret is the secret.Ref of the session token of temporary
	// credentials; empty for none.
	SessionTokenSecret string `json:"session_token_secret,omitempty"`
	// SecretEnv is the variable that holds the placeholder of the secret access
	// key; empty means AWS_SECRET_ACCESS_KEY.
	SecretEnv string `json:"secret_env,omitempty"`
	// Services and Regions limit what is signed for; empty means any.
	Services []string `json:"services,omitempty"`
	Regions  []string `json:"regions,omitempty"`
}

// UnmarshalJSON decodes strictly, as Binding does.
func (a *AWS) UnmarshalJSON(data []byte) error {
	*a = AWS{}
	return decodeObject(data, map[string]any{
		"access_key_id": &a.AccessKeyID, "access_key_id_secret": &a.AccessKeyIDSecret,
		"session_token_secret": &a.SessionTokenSecret, "secret_env": &a.SecretEnv,
		"services": &a.Services, "regions": &a.Regions,
	})
}

// awsName is how regions and services are written.
var awsName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

func (b Binding) compileAWS(c *bound) *BindingError {
	a := b.AWS
	if a == nil {
		a = &AWS{}
	}
	for key, names := range map[string][]string{"aws.services": a.Services, "aws.regions": a.Regions} {
		for _, name := range names {
			if !awsName.MatchString(name) {
				return &BindingError{key, "want names such as \"s3\" and \"eu-central-1\""}
			}
		}
	}
	env := cmp.Or(a.SecretEnv, "AWS_SECRET_ACCESS_KEY")
	if !envSyntax.MatchString(env) || env == b.Env {
		return &BindingError{"aws.secret_env", "want the name of another variable"}
	}
	if a.AccessKeyID != "" && a.AccessKeyIDSecret != "" {
		return &BindingError{"aws.access_key_id_secret", "access_key_id is there already"}
	}
	if err := c.hold(partKeyID, "aws.access_key_id_secret", a.AccessKeyIDSecret); err != nil {
		return err
	}
	if h := c.more[partKeyID]; h != nil {
		h.public = true
	}
	if err := c.hold(partToken, "aws.session_token_secret", a.SessionTokenSecret); err != nil {
		return err
	}
	c.secret.inner = map[string]*held{"SecretAccessKey": {}, "SessionToken": {}}
	secretShape, _ := shape.Named("aws-secret-access-key")
	c.companion = &bound{kind: kindCompanion, env: env, shape: secretShape, forward: c.forward, strict: c.strict}
	return nil
}

// MaxSignedBody bounds how much of a body is kept in memory to be signed.
const MaxSignedBody = 16 << 20

// HMAC are the options of [KindHMAC]. The binding's Header is set on every
// request, in its Format.
type HMAC struct {
	Hash     string `json:"hash,omitempty"`     // sha1, sha256 (the default) or sha512
	Encoding string `json:"encoding,omitempty"` // hex (the default), base64 or base64url
	// Message is what is hashed: text with {body}, {timestamp}, {method} and
	// {path}, which is as it is sent and with its query. Empty means "{body}".
	Message string `json:"message,omitempty"`
	// TimestampHeader carries {timestamp}, in seconds since 1970; empty if the
	// Format has it, or nothing.
	TimestampHeader string `json:"timestamp_header,omitempty"`
	// MaxBody is the longest body in bytes; 0 means 1 MiB.
	MaxBody int `json:"max_body,omitempty"`
}

// UnmarshalJSON decodes strictly, as Binding does.
func (h *HMAC) UnmarshalJSON(data []byte) error {
	*h = HMAC{}
	return decodeObject(data, map[string]any{
		"hash": &h.Hash, "encoding": &h.Encoding, "message": &h.Message,
		"timestamp_header": &h.TimestampHeader, "max_body": &h.MaxBody,
	})
}

func (b Binding) compileHMAC(*bound) *BindingError {
	h := b.HMAC
	if h == nil {
		return nil
	}
	switch {
	case h.Hash != "" && !slices.Contains([]string{"sha1", "sha256", "sha512"}, h.Hash):
		return &BindingError{"hmac.hash", "want sha1, sha256 or sha512"}
	case h.Encoding != "" && !slices.Contains([]string{"hex", "base64", "base64url"}, h.Encoding):
		return &BindingError{"hmac.encoding", "want hex, base64 or base64url"}
	case h.MaxBody < 0 || h.MaxBody > MaxSignedBody:
		return &BindingError{"hmac.max_body", fmt.Sprintf("want at most %d bytes", MaxSignedBody)}
	case h.TimestampHeader == "":
		return nil
	}
	name, err := bindableHeader(h.TimestampHeader, false)
	if err != nil || name == b.Header {
		return &BindingError{"hmac.timestamp_header", "want another header that may be set"}
	}
	return nil
}

// OAuth2 are the options of [KindClientCredentials] and [KindRefreshToken].
type OAuth2 struct {
	TokenURL string `json:"token_url"` // https, with a host name
	ClientID string `json:"client_id"`
	// ClientSecret is a secret.Ref, for KindRefreshToken alone; empty for
	// public clients.
	ClientSecret string            `json:"client_secret,omitempty"`
	Scopes       []string          `json:"scopes,omitempty"`
	Params       map[string]string `json:"params,omitempty"` // further fields, such as "audience"
	// SecretInBody sends the client's credentials in the body, not as Basic
	// (RFC 6749 §2.3.1).
	SecretInBody bool `json:"secret_in_body,omitempty"`
}

// UnmarshalJSON decodes strictly, as Binding does.
func (o *OAuth2) UnmarshalJSON(data []byte) error {
	*o = OAuth2{}
	return decodeObject(data, map[string]any{
		"token_url": &o.TokenURL, "client_id": &o.ClientID, "client_secret": &o.ClientSecret,
		"scopes": &o.Scopes, "params": &o.Params, "secret_in_body": &o.SecretInBody,
	})
}

func (b Binding) compileOAuth2(c *bound) *BindingError {
	o := b.OAuth2
	switch {
	case o == nil:
		return &BindingError{"oauth2", "required"}
	case o.ClientID == "":
		return &BindingError{"oauth2.client_id", "required"}
	case o.ClientSecret != "" && b.Kind == KindClientCredentials:
		return &BindingError{"oauth2.client_secret", "it is the binding's secret"}
	}
	if err := checkTokenURL("oauth2.token_url", o.TokenURL); err != nil {
		return err
	}
	for _, reserved := range [...]string{"grant_type", "client_id", "client_secret", "refresh_token", "assertion"} {
		if _, there := o.Params[reserved]; there {
			return &BindingError{"oauth2.params", reserved + " is set by the grant"}
		}
	}
	c.more[partIssued] = &held{}
	if b.Kind == KindRefreshToken {
		c.more[partRefresh] = &held{}
	}
	return c.hold(partClientSecret, "oauth2.client_secret", o.ClientSecret)
}

// ServiceAccount are the options of [KindServiceAccount]: Scopes or Audience is
// required.
type ServiceAccount struct {
	Scopes []string `json:"scopes,omitempty"`
	// Audience makes a JWT that the service takes by itself; nobody is asked
	// for a token.
	Audience string `json:"audience,omitempty"`
	Subject  string `json:"subject,omitempty"` // the user to act for; with Scopes
	// TokenURL is where tokens come from, whatever the key says; empty means
	// Google's.
	TokenURL string `json:"token_url,omitempty"`
}

// UnmarshalJSON decodes strictly, as Binding does.
func (g *ServiceAccount) UnmarshalJSON(data []byte) error {
	*g = ServiceAccount{}
	return decodeObject(data, map[string]any{
		"scopes": &g.Scopes, "audience": &g.Audience, "subject": &g.Subject, "token_url": &g.TokenURL,
	})
}

func (b Binding) compileServiceAccount(c *bound) *BindingError {
	g := b.Google
	switch {
	case g == nil:
		return &BindingError{"google", "required"}
	case (len(g.Scopes) == 0) == (g.Audience == ""):
		return &BindingError{"google", "want scopes or an audience"}
	case g.Audience != "" && (g.Subject != "" || g.TokenURL != ""):
		return &BindingError{"google.audience", "goes without subject and token_url"}
	}
	if g.TokenURL != "" {
		if err := checkTokenURL("google.token_url", g.TokenURL); err != nil {
			return err
		}
	}
	c.secret.inner = map[string]*held{"private_key": {}}
	c.more[partIssued] = &held{}
	return nil
}

// checkTokenURL refuses what the edge must not be made to ask.
func checkTokenURL(key, text string) *BindingError {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Fragment != "" || strings.Contains(u.Host, "*") {
		return &BindingError{key, `want a URL such as "https://auth.example.com/token"`}
	}
	host, _, err := policy.CanonicalAuthority(u.Host, defaultPort)
	if err != nil || host.IP().IsValid() {
		return &BindingError{key, "want a host name"}
	}
	return nil
}

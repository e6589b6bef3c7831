package vault

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Options say where a Vault is and who we are to it. Address and Auth are
// required.
type Options struct {
	Address   string // "https://vault.example.com:8200"
	Namespace string // of Vault Enterprise or HCP; empty for none
	TLS       TLS
	Auth      Auth
	// RedirectHosts are the hosts, each HOST:PORT, that a standby may send us
	// to with our token. None are followed by default.
	RedirectHosts []string
	// BoundaryTokens makes a child token for each boundary. The policy must
	// allow update of auth/token/create.
	BoundaryTokens bool
	// Open reports whether a boundary is still open; what a closed one was
	// granted is revoked within about a second. Nil means that only the end of
	// Serve closes boundaries.
	Open func(boundary string) bool
	// Timeout bounds each read; zero means 10 s.
	Timeout time.Duration
}

// TLS names PEM files. All are optional; without CAFile the system's roots
// vouch for the server.
type TLS struct {
	CAFile     string
	CertFile   string // ours, for AuthCert or a server that wants one
	KeyFile    string
	ServerName string // instead of the address's host
}

// Method is how to log in.
type Method string

// The methods. Each reads its credential at every login.
const (
	AuthToken      Method = "token"      // Token or TokenFile
	AuthAppRole    Method = "approle"    // RoleID and SecretIDFile
	AuthKubernetes Method = "kubernetes" // Role and JWTFile
	AuthJWT        Method = "jwt"        // Role and JWTFile
	AuthCert       Method = "cert"       // TLS.CertFile; Role optionally
)

// Auth is how we log in.
type Auth struct {
	Method Method
	Mount  string // empty means the method's name
	// Token is used as it is, and TokenFile read again whenever the token in
	// it has died: whoever writes it, such as an agent, keeps it fresh.
	Token     string
	TokenFile string
	Role      string
	// JWTFile is the token that proves us. For AuthKubernetes, empty means the
	// pod's service account.
	JWTFile string
	RoleID  string
	// SecretIDFile holds the secret id or, if SecretIDWrapped, the
	// response-wrapping token of one; that is spent at the first login, and
	// the secret id is kept in memory until the file changes.
	SecretIDFile    string
	SecretIDWrapped bool
}

const (
	defaultTimeout = 10 * time.Second
	// ServiceAccountJWT is where a pod finds the token of its service account.
	ServiceAccountJWT = "/var/run/secrets/kubernetes.io/serviceaccount/token"
)

// complete fills in the defaults and refuses what can't work.
func (o Options) complete() (Options, error) {
	u, err := url.Parse(o.Address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Path != "" && u.Path != "/" {
		return o, errors.New(`address: expected a URL such as "https://vault.example.com:8200"`)
	}
	if (o.TLS.CertFile == "") != (o.TLS.KeyFile == "") {
		return o, errors.New("tls: expected a certificate and its key, or neither")
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	o.Auth.Mount = strings.Trim(o.Auth.Mount, "/")
	if o.Auth.Mount == "" {
		o.Auth.Mount = string(o.Auth.Method)
	}
	if o.Auth.Method == AuthKubernetes && o.Auth.JWTFile == "" {
		o.Auth.JWTFile = ServiceAccountJWT
	}
	if err := o.Auth.check(o.TLS); err != nil {
		return o, fmt.Errorf("auth: %w", err)
	}
	return o, nil
}

func (a Auth) check(t TLS) error {
	var ok bool
	var want string
	switch a.Method {
	case AuthToken:
		ok, want = (a.Token == "") != (a.TokenFile == ""), "one token"
	case AuthAppRole:
		ok, want = a.RoleID != "" && a.SecretIDFile != "", "a role id and a file with the secret id"
	case AuthKubernetes, AuthJWT:
		ok, want = a.Role != "" && a.JWTFile != "", "a role and a file with the token"
	case AuthCert:
		ok, want = t.CertFile != "", "a client certificate"
	default:
		return fmt.Errorf("method: expected token, approle, kubernetes, jwt or cert, found %q", a.Method)
	}
	if !ok {
		return fmt.Errorf("method %s: expected %s", a.Method, want)
	}
	return nil
}

// renews reports whether a new login can yield a token that lives longer than
// the one at hand.
func (a Auth) renews() bool { return a.Method != AuthToken || a.TokenFile != "" }

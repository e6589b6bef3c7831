package config

import (
	"fmt"
	"strings"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

// DocumentIssuer is one of the key "issuers". Which keys a kind has is said by
// whoever makes issuers of it.
type DocumentIssuer struct {
	Kind        string          `json:"kind"`
	Host        string          `json:"host,omitempty"`
	APIURL      string          `json:"api_url,omitempty"`
	AppID       string          `json:"app_id,omitempty"`
	PrivateKey  string          `json:"private_key,omitempty"` // of secret.ParseRef, like all below
	Permissions []string        `json:"permissions,omitempty"`
	Username    string          `json:"username,omitempty"`
	Token       string          `json:"token,omitempty"`
	AccountWide bool            `json:"account_wide,omitempty"`
	Tokens      []DocumentToken `json:"tokens,omitempty"`
}

// DocumentToken is a token that somebody made by hand.
type DocumentToken struct {
	Repository string        `json:"repository"`
	Access     broker.Access `json:"access,omitempty"`
	Secret     string        `json:"secret"`
}

// Issuer is a checked DocumentIssuer. What isn't written is zero.
type Issuer struct {
	Kind        string
	Host        policy.Host
	APIURL      string
	AppID       string
	PrivateKey  secret.Ref
	Permissions []string
	Username    string
	Token       secret.Ref
	AccountWide bool
	Tokens      map[broker.Request]secret.Ref
}

func (c checker) issuers(ds map[string]DocumentIssuer) (map[string]Issuer, error) {
	all := make(map[string]Issuer, len(ds))
	for name, d := range ds {
		path := "issuers." + name
		if err := broker.ValidateIssuerName(name); err != nil {
			return nil, at("issuers", "%v", err)
		}
		checked, key, err := c.issuer(d)
		if err != nil {
			return nil, at(path+"."+key, "%v", err)
		}
		all[name] = checked
	}
	return all, nil
}

// issuer returns the checked issuer, or the key that is wrong.
func (c checker) issuer(d DocumentIssuer) (_ Issuer, key string, err error) {
	i := Issuer{
		Kind: d.Kind, APIURL: d.APIURL, AppID: d.AppID, Permissions: d.Permissions,
		Username: d.Username, AccountWide: d.AccountWide,
	}
	if d.Host != "" {
		if i.Host, err = policy.CanonicalHost(d.Host); err != nil {
			return Issuer{}, "host", err
		}
	}
	if i.PrivateKey, err = c.ref(d.PrivateKey); err != nil {
		return Issuer{}, "private_key", err
	}
	if i.Token, err = c.ref(d.Token); err != nil {
		return Issuer{}, "token", err
	}
	for n, token := range d.Tokens {
		request, ref, err := c.token(token)
		if _, twice := i.Tokens[request]; err == nil && twice {
			err = fmt.Errorf("a second token to %s %s", request.Access, request.Repository)
		}
		if err != nil {
			return Issuer{}, index("tokens", n), err
		}
		if i.Tokens == nil {
			i.Tokens = map[broker.Request]secret.Ref{}
		}
		i.Tokens[request] = ref
	}
	return i, "", nil
}

func (c checker) token(d DocumentToken) (broker.Request, secret.Ref, error) {
	repository, err := broker.CanonicalRepository(d.Repository)
	if err != nil {
		return broker.Request{}, secret.Ref{}, err
	}
	switch d.Access {
	case "":
		d.Access = broker.Read
	case broker.Read, broker.Write:
	default:
		return broker.Request{}, secret.Ref{}, fmt.Errorf("expected access %q or %q", broker.Read, broker.Write)
	}
	ref, err := c.ref(d.Secret)
	if err == nil && ref == (secret.Ref{}) {
		err = fmt.Errorf("expected a secret")
	}
	return broker.Request{Repository: repository, Access: d.Access}, ref, err
}

// ref reads a secret's reference; an empty one stays empty.
func (c checker) ref(s string) (secret.Ref, error) {
	if s == "" {
		return secret.Ref{}, nil
	}
	if name, isFile := strings.CutPrefix(s, "file:"); isFile && name != "" {
		s = "file:" + c.path(name)
	}
	return secret.ParseRef(s)
}

package config

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport/sallyport/inject"
)

// Sources says where secrets come from besides this machine.
type Sources struct {
	Vault *Vault // nil: none
	// StaleFor is how much longer than its time a secret is used while its
	// source is unavailable; zero is not at all.
	StaleFor time.Duration
}

// Vault is the key "sources.vault": a server that speaks HashiCorp Vault's
// API, and how to log in. Paths are absolute.
type Vault struct {
	Address        string
	Namespace      string
	CAFile         string
	CertFile       string
	KeyFile        string
	ServerName     string
	RedirectHosts  []string
	BoundaryTokens bool
	Auth           VaultAuth
}

// VaultAuth is the key "sources.vault.auth".
type VaultAuth struct {
	Method          string
	Mount           string
	TokenFile       string
	Role            string
	JWTFile         string
	RoleID          string
	SecretIDFile    string
	SecretIDWrapped bool
}

func (c checker) sources(d DocumentSources) (Sources, error) {
	var sources Sources
	if d.StaleFor != "" {
		var err error
		if sources.StaleFor, err = time.ParseDuration(d.StaleFor); err != nil || sources.StaleFor < 0 || sources.StaleFor > inject.MaxStale {
			return Sources{}, at("sources.stale_for", "expected a duration of at most %v", inject.MaxStale)
		}
	}
	if d.Vault == nil {
		return sources, nil
	}
	var err error
	sources.Vault, err = c.vault(*d.Vault)
	return sources, err
}

func (c checker) vault(d DocumentVault) (*Vault, error) {
	const path = "sources.vault"
	u, err := url.Parse(d.Address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" {
		return nil, at(path+".address", `expected a URL such as "https://vault.example.com:8200"`)
	}
	if (d.CertFile == "") != (d.KeyFile == "") {
		return nil, at(path+".key_file", "expected cert_file and key_file, or neither")
	}
	if d.CAFile != "" {
		if err := checkRoots(c.path(d.CAFile)); err != nil {
			return nil, at(path+".ca_file", "%v", err)
		}
	}
	for i, h := range d.RedirectHosts {
		if err := checkListenAddress(h); err != nil {
			return nil, at(index(path+".redirect_hosts", i), "%v", err)
		}
	}
	if err := checkVaultAuth(d); err != nil {
		return nil, err
	}
	a := d.Auth
	return &Vault{
		Address: d.Address, Namespace: d.Namespace, ServerName: d.ServerName,
		CAFile: c.path(d.CAFile), CertFile: c.path(d.CertFile), KeyFile: c.path(d.KeyFile),
		RedirectHosts: d.RedirectHosts, BoundaryTokens: d.BoundaryTokens,
		Auth: VaultAuth{
			Method: a.Method, Mount: a.Mount, Role: a.Role, RoleID: a.RoleID,
			TokenFile: c.path(a.TokenFile), JWTFile: c.path(a.JWTFile),
			SecretIDFile: c.path(a.SecretIDFile), SecretIDWrapped: a.SecretIDWrapped,
		},
	}, nil
}

// vaultAuth are the keys of each method: those that it needs, and those that
// it may have besides "mount". Any other is a mistake.
var vaultAuth = map[string]struct{ needs, may []string }{
	"token":      {needs: []string{"token_file"}},
	"approle":    {needs: []string{"role_id", "secret_id_file"}, may: []string{"secret_id_wrapped"}},
	"kubernetes": {needs: []string{"role"}, may: []string{"jwt_file"}},
	"jwt":        {needs: []string{"role", "jwt_file"}},
	"cert":       {may: []string{"role"}},
}

func checkVaultAuth(d DocumentVault) error {
	const path = "sources.vault.auth"
	method, known := vaultAuth[d.Auth.Method]
	if !known {
		return at(path+".method", "expected token, approle, kubernetes, jwt or cert, found %s", strconv.Quote(d.Auth.Method))
	}
	if d.Auth.Method == "cert" && d.CertFile == "" {
		return at("sources.vault.cert_file", "expected a file: method cert proves who we are with it")
	}
	written := map[string]bool{
		"token_file": d.Auth.TokenFile != "", "role": d.Auth.Role != "", "jwt_file": d.Auth.JWTFile != "",
		"role_id": d.Auth.RoleID != "", "secret_id_file": d.Auth.SecretIDFile != "", "secret_id_wrapped": d.Auth.SecretIDWrapped,
	}
	for _, key := range method.needs {
		if !written[key] {
			return at(path+"."+key, "expected by method %s", d.Auth.Method)
		}
		delete(written, key)
	}
	for _, key := range method.may {
		delete(written, key)
	}
	for key, is := range written {
		if is {
			return at(path+"."+key, "not a key of method %s", d.Auth.Method)
		}
	}
	return nil
}

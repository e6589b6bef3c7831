package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/broker/gitea"
	"github.com/sallyport/sallyport/broker/github"
	"github.com/sallyport/sallyport/broker/gitlab"
	statictoken "github.com/sallyport/sallyport/broker/static"
	"github.com/sallyport/sallyport/edge"
	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/edge/guard"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

// issuerKinds are the issuers that a configuration may name.
var issuerKinds = map[string]func(config.Issuer, issuerTools) (broker.Issuer, error){
	"forgejo": newGitea,
	"gitea":   newGitea,
	"github":  newGitHub,
	"gitlab":  newGitLab,
	"static":  newStatic,
}

const httpsPort = 443

// issuerTools are what issuers are made with.
type issuerTools struct {
	transport http.RoundTripper
	read      func(secret.Ref) broker.SecretReader
}

// newBroker returns the broker of the configured issuers. They reach the world
// as sandboxes do: by the guarded dialer, to verified peers.
func newBroker(c *config.Config, h *held, table *boundary.Table, resolver *inject.Resolver, dialer *guard.Dialer, sink audit.Sink, log *slog.Logger) (*broker.Broker, error) {
	issuers, err := newIssuers(c, resolver, issuerTransport(dialer, h, c.Upstream.Proxy))
	if err != nil {
		return nil, err
	}
	return broker.New(broker.Options{
		Issuers: issuers, Lookup: edge.GitLookup(table), Record: edge.GitEvents(sink, table), Log: log,
	}), nil
}

// newIssuers makes the issuers of c. It reads no secret and asks nobody.
func newIssuers(c *config.Config, resolver *inject.Resolver, transport http.RoundTripper) (map[string]broker.Issuer, error) {
	tools := issuerTools{transport: transport, read: func(ref secret.Ref) broker.SecretReader {
		return func(ctx context.Context) (secret.Secret, error) { return resolver.Read(ctx, ref) }
	}}
	all := make(map[string]broker.Issuer, len(c.Issuers))
	for name, i := range c.Issuers {
		open := issuerKinds[i.Kind]
		if open == nil {
			return nil, fmt.Errorf("issuers.%s.kind: expected one of %q", name, slices.Sorted(maps.Keys(issuerKinds)))
		}
		issuer, err := open(i, tools)
		if err != nil {
			return nil, fmt.Errorf("issuers.%s: %w", name, err)
		}
		all[name] = issuer
	}
	return all, nil
}

func newGitHub(c config.Issuer, t issuerTools) (broker.Issuer, error) {
	if c.PrivateKey == (secret.Ref{}) {
		return nil, errors.New("private_key: expected a secret, such as \"file:app.pem\"")
	}
	if c.Username != "" || c.Token != (secret.Ref{}) || c.Tokens != nil || c.AccountWide {
		return nil, errors.New("expected host, api_url, app_id, private_key and permissions only")
	}
	return github.New(github.Options{
		Host: c.Host, APIURL: c.APIURL, AppID: c.AppID, Key: t.read(c.PrivateKey),
		Extra: c.Permissions, Transport: t.transport,
	})
}

func newGitLab(c config.Issuer, t issuerTools) (broker.Issuer, error) {
	switch {
	case c.Token == (secret.Ref{}):
		return nil, errors.New("token: expected a secret, such as \"file:token\"")
	case len(c.Permissions) > 1 || len(c.Permissions) == 1 && c.Permissions[0] != "api":
		return nil, errors.New("permissions: expected api, or nothing")
	case c.AppID != "" || c.PrivateKey != (secret.Ref{}) || c.Username != "" || c.Tokens != nil || c.AccountWide:
		return nil, errors.New("expected host, api_url, token and permissions only")
	}
	return gitlab.New(gitlab.Options{
		Host: c.Host, APIURL: c.APIURL, Token: t.read(c.Token), WithAPI: len(c.Permissions) > 0, Transport: t.transport,
	})
}

func newGitea(c config.Issuer, t issuerTools) (broker.Issuer, error) {
	switch {
	case c.Token == (secret.Ref{}):
		return nil, errors.New("token: expected a secret, such as \"file:password\": the account's password")
	case c.AppID != "" || c.APIURL != "" || c.PrivateKey != (secret.Ref{}) || c.Permissions != nil || c.Tokens != nil:
		return nil, errors.New("expected host, username, token and account_wide only")
	}
	return gitea.New(gitea.Options{
		Host: c.Host, Username: c.Username, Password: t.read(c.Token), AccountWide: c.AccountWide, Transport: t.transport,
	})
}

func newStatic(c config.Issuer, t issuerTools) (broker.Issuer, error) {
	switch {
	case c.Host.IsZero():
		return nil, errors.New("host: required")
	case len(c.Tokens) == 0:
		return nil, errors.New("tokens: expected one at least")
	case c.AppID != "" || c.APIURL != "" || c.PrivateKey != (secret.Ref{}) || c.Token != (secret.Ref{}) || c.Permissions != nil || c.AccountWide:
		return nil, errors.New("expected host, username and tokens only")
	}
	tokens := make(map[broker.Request]broker.SecretReader, len(c.Tokens))
	for request, ref := range c.Tokens {
		tokens[request] = t.read(ref)
	}
	return statictoken.New(statictoken.Options{Host: c.Host, Username: c.Username, Tokens: tokens}), nil
}

// issuerTransport returns a transport over the guarded dialer, or through the
// edge's parent proxy to what isn't pinned. The proxy itself is the operator's
// choice and not judged by the guard.
func issuerTransport(dialer *guard.Dialer, h *held, parent *url.URL) http.RoundTripper {
	return &http.Transport{
		Proxy: func(r *http.Request) (*url.URL, error) {
			host, port, err := policy.CanonicalAuthority(r.URL.Host, httpsPort)
			if err != nil {
				return nil, err
			}
			if _, pinned := dialer.Pins[guard.HostPort{Host: host, Port: port}]; pinned {
				return nil, nil
			}
			return parent, nil
		},
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			if parent != nil && addr == parent.Host {
				return new(net.Dialer).DialContext(ctx, "tcp", addr)
			}
			host, port, err := policy.CanonicalAuthority(addr, 0)
			if err != nil {
				return nil, err
			}
			return dialer.DialContext(ctx, host, port)
		},
		TLSClientConfig:       &tls.Config{RootCAs: h.roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 20 * time.Second,
		IdleConnTimeout:       time.Minute,
		MaxIdleConnsPerHost:   2,
	}
}

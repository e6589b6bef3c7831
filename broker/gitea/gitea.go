// Package gitea mints access tokens of one account, on a Gitea or a Forgejo.
//
// Such a token has a scope, to read or to write, and reaches every repository
// that its account can: the forge has no narrower one. So the account should be
// made for the purpose, with the repositories that may be granted and no others;
// and the broker hands such tokens to the edge alone, which uses each for the
// granted repository, unless the operator says that sandboxes may hold them.
package gitea

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"code.gitea.io/sdk/gitea"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

const (
	userAgent   = "sallyport"
	httpsPort   = 443
	apiPath     = "/api/v1"
	cleanUp     = 5 * time.Second
	defaultWait = 10 * time.Second
)

// Options of an Issuer. Host, Username and Password are required.
type Options struct {
	Host     policy.Host
	Username string // of the account
	// Password is the account's: the forge makes tokens for nothing else.
	Password  broker.SecretReader
	Transport http.RoundTripper // nil means http.DefaultTransport
	// AccountWide lets sandboxes hold tokens that reach all of the account.
	AccountWide bool
}

// Issuer is a [broker.Issuer] that stands on one account.
type Issuer struct{ options Options }

var (
	_ broker.Issuer    = (*Issuer)(nil)
	_ broker.Describer = (*Issuer)(nil)
	_ broker.Wide      = (*Issuer)(nil)
)

// New checks the options. It reads no password and asks nobody yet.
func New(o Options) (*Issuer, error) {
	switch {
	case o.Host.IsZero():
		return nil, errors.New("host: required")
	case o.Username == "" || strings.ContainsAny(o.Username, ":/ "):
		return nil, errors.New("username: expected that of an account")
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	return &Issuer{o}, nil
}

// Host implements [broker.Issuer].
func (i *Issuer) Host() policy.Host { return i.options.Host }

// API implements [broker.Describer].
func (i *Issuer) API() broker.API {
	return broker.API{Host: i.options.Host, Prefix: apiPath, Style: broker.GiteaStyle}
}

// Wide implements [broker.Wide].
func (i *Issuer) Wide() bool { return !i.options.AccountWide }

// scopes are what a token of each access may do.
var scopes = map[broker.Access]gitea.AccessTokenScope{broker.Read: "read:repository", broker.Write: "write:repository"}

// Issue implements [broker.Issuer].
func (i *Issuer) Issue(ctx context.Context, r broker.Request) (broker.Credential, error) {
	if strings.Contains(r.Repository.Owner(), "/") {
		return broker.Credential{}, fmt.Errorf("%w: the forge has no groups: %s", broker.ErrRefused, r.Repository)
	}
	client, err := i.client(ctx)
	if err != nil {
		return broker.Credential{}, err
	}
	if err := reaches(client, r); err != nil {
		return broker.Credential{}, err
	}
	token, resp, err := client.CreateAccessToken(gitea.CreateAccessTokenOption{
		Name: "sallyport-" + rand.Text(), Scopes: []gitea.AccessTokenScope{scopes[r.Access]},
	})
	if err != nil {
		return broker.Credential{}, explain(resp, err, "make an access token")
	}
	got := broker.Credential{
		Username: i.options.Username, Password: secret.NewValue([]byte(token.Token)),
		Revoke: func(ctx context.Context) error { return i.revoke(ctx, token.ID) },
	}
	if token.Token == "" || !slices.Equal(token.Scopes, []gitea.AccessTokenScope{scopes[r.Access]}) {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
		defer cancel()
		err := fmt.Errorf("%w: the forge made a token with scopes %q in place of %q", broker.ErrMisconfigured, token.Scopes, scopes[r.Access])
		return broker.Credential{}, errors.Join(err, got.Revoke(clean))
	}
	return got, nil
}

// reaches reports an error unless the account may do with the repository what
// is asked for, under that very name.
func reaches(client *gitea.Client, r broker.Request) error {
	repository, resp, err := client.GetRepo(r.Repository.Owner(), r.Repository.Name())
	if err != nil {
		return explain(resp, err, "look up "+r.Repository.String())
	}
	name, err := broker.CanonicalRepository(repository.FullName)
	can := repository.Permissions
	switch {
	case err != nil || name != r.Repository:
		return fmt.Errorf("%w: %s is another repository by now", broker.ErrRefused, r.Repository)
	case can == nil || !can.Pull || r.Access == broker.Write && !can.Push:
		return fmt.Errorf("%w: the account may not %s %s", broker.ErrRefused, r.Access, r.Repository)
	}
	return nil
}

// revoke ends a token. One that isn't there any more has ended.
func (i *Issuer) revoke(ctx context.Context, token int64) error {
	client, err := i.client(ctx)
	if err != nil {
		return err
	}
	if resp, err := client.DeleteAccessToken(token); err != nil && (resp == nil || resp.Response == nil || resp.StatusCode != http.StatusNotFound) {
		return explain(resp, err, "revoke an access token")
	}
	return nil
}

// client returns one for a single use.
func (i *Issuer) client(ctx context.Context) (*gitea.Client, error) {
	password, err := i.options.Password(ctx)
	switch {
	case errors.Is(err, secret.ErrNotFound), errors.Is(err, secret.ErrDenied):
		return nil, fmt.Errorf("%w: %w", broker.ErrMisconfigured, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", broker.ErrUnavailable, err)
	}
	at := url.URL{Scheme: "https", Host: i.options.Host.String()}
	client, err := gitea.NewClient(at.String(),
		// An empty version spares the question for it.
		gitea.SetGiteaVersion(""), gitea.SetContext(ctx), gitea.SetUserAgent(userAgent),
		gitea.SetBasicAuth(i.options.Username, string(password.Value.Reveal())),
		gitea.SetHTTPClient(&http.Client{Transport: i.options.Transport, CheckRedirect: stay}))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", broker.ErrMisconfigured, err)
	}
	return client, nil
}

// stay follows no redirect: the client sends the password along.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// explain maps an error of the client to one of the broker's.
func explain(resp *gitea.Response, err error, doing string) error {
	if resp == nil || resp.Response == nil {
		return fmt.Errorf("%w: %s: %w", broker.ErrUnavailable, doing, err)
	}
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized:
		return fmt.Errorf("%w: %s: the account's password isn't accepted", broker.ErrMisconfigured, doing)
	case status == http.StatusTooManyRequests:
		wait, bad := strconv.Atoi(resp.Header.Get("Retry-After"))
		if bad != nil || wait < 0 {
			return &broker.RateLimitError{After: defaultWait, Err: err}
		}
		return &broker.RateLimitError{After: time.Duration(wait) * time.Second, Err: err}
	case status >= 300 && status < 500:
		return fmt.Errorf("%w: %s: status %d: %w", broker.ErrRefused, doing, status, err)
	default:
		return fmt.Errorf("%w: %s: status %d", broker.ErrUnavailable, doing, status)
	}
}

// Package github mints installation tokens of a GitHub App, on github.com or a
// GitHub Enterprise Server.
//
// Each token is asked for with an explicit repository and explicit permissions,
// because an absent or empty list of repositories mints one for all that the
// installation has; and the scope that comes back is verified before anybody
// gets the token. Tokens are opaque: nothing is assumed about their length or
// alphabet.
//
// The App's JWT is made here and not by ghinstallation, which back-dates it by
// 30 s without a way to follow the server's clock, takes numeric App ids only,
// and keeps tokens in a cache that nobody can revoke from.
package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/google/go-github/v84/github"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

const (
	dotCom    = "github.com"
	dotComAPI = "https://api.github.com/"
	// username goes with every installation token.
	username  = "x-access-token"
	userAgent = "sallyport"
	httpsPort = 443
)

// Options of an Issuer. AppID and Key are required.
type Options struct {
	Host      policy.Host         // of the repositories; zero means github.com
	APIURL    string              // empty means that of Host: /api/v3/ of an Enterprise Server
	AppID     string              // or the App's client id, which GitHub prefers
	Key       broker.SecretReader // the App's private key, PEM
	Transport http.RoundTripper   // nil means http.DefaultTransport
	// Extra are permissions that tokens with write access have besides
	// contents: pull_requests, workflows.
	Extra []string
}

// Issuer is a [broker.Issuer] that stands on one App.
type Issuer struct {
	options Options
	api     *url.URL
	clock   clock
}

var (
	_ broker.Issuer    = (*Issuer)(nil)
	_ broker.Mover     = (*Issuer)(nil)
	_ broker.Describer = (*Issuer)(nil)
)

// New checks the options. It reads no key and asks nobody yet.
func New(o Options) (*Issuer, error) {
	if o.Host.IsZero() {
		o.Host, _ = policy.CanonicalHost(dotCom)
	}
	if o.APIURL == "" {
		o.APIURL = dotComAPI
		if o.Host.String() != dotCom {
			o.APIURL = "https://" + o.Host.String() + "/api/v3/"
		}
	}
	api, err := url.Parse(strings.TrimSuffix(o.APIURL, "/") + "/")
	if err != nil || api.Scheme != "https" || api.Host == "" || api.User != nil || api.RawQuery != "" {
		return nil, errors.New("api_url: expected an https URL such as https://github.example.com/api/v3/")
	}
	if !appID.MatchString(o.AppID) {
		return nil, errors.New("app_id: expected the number or the client id of a GitHub App")
	}
	for _, p := range o.Extra {
		if set(&github.InstallationPermissions{}, p) != nil {
			return nil, fmt.Errorf("permissions: expected pull_requests or workflows, found %.40q", p)
		}
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	return &Issuer{options: o, api: api}, nil
}

var appID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Host implements [broker.Issuer].
func (i *Issuer) Host() policy.Host { return i.options.Host }

// API implements [broker.Describer]. One on another port than 443 is none.
func (i *Issuer) API() broker.API {
	host, port, err := policy.CanonicalAuthority(i.api.Host, httpsPort)
	if err != nil || port != httpsPort {
		return broker.API{}
	}
	return broker.API{Host: host, Prefix: strings.TrimSuffix(i.api.Path, "/"), Style: broker.GitHubStyle}
}

// Issue implements [broker.Issuer].
func (i *Issuer) Issue(ctx context.Context, r broker.Request) (broker.Credential, error) {
	var got broker.Credential
	err := i.asApp(ctx, func(client *github.Client) error {
		var err error
		got, err = i.issue(ctx, client, r)
		return err
	})
	if err != nil {
		return broker.Credential{}, err
	}
	i.settle(ctx, got)
	return got, nil
}

func (i *Issuer) issue(ctx context.Context, client *github.Client, r broker.Request) (broker.Credential, error) {
	if strings.Contains(r.Repository.Owner(), "/") {
		return broker.Credential{}, fmt.Errorf("%w: GitHub has no groups: %s", broker.ErrRefused, r.Repository)
	}
	at, err := find(ctx, client, r.Repository)
	if err != nil {
		return broker.Credential{}, err
	}
	asked := permissions(r.Access, i.options.Extra)
	options := &github.InstallationTokenOptions{Permissions: asked}
	if at.movedTo != 0 {
		options.RepositoryIDs = []int64{at.movedTo}
	} else {
		options.Repositories = []string{r.Repository.Name()}
	}
	token, _, err := client.Apps.CreateInstallationToken(ctx, at.installation, options)
	if err != nil {
		return broker.Credential{}, explain(err, fmt.Sprintf("installation %d, repository %s, permissions %s", at.installation, r.Repository, describe(asked)))
	}
	got := broker.Credential{
		Username: username,
		Password: secret.NewValue([]byte(token.GetToken())),
		Expires:  token.GetExpiresAt().Time,
		Revoke:   func(ctx context.Context) error { return i.revoke(ctx, token.GetToken()) },
	}
	if got.Repository, err = verify(token, r.Repository, at.movedTo, asked); err != nil {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
		defer cancel()
		return broker.Credential{}, errors.Join(fmt.Errorf("%w: %w", broker.ErrMisconfigured, err), got.Revoke(clean))
	}
	return got, nil
}

// cleanUp bounds the revocation of a token that nobody may have.
const cleanUp = 5 * time.Second

// Moved implements [broker.Mover].
func (i *Issuer) Moved(ctx context.Context, r broker.Repository) (moved bool, err error) {
	err = i.asApp(ctx, func(client *github.Client) error {
		at, err := find(ctx, client, r)
		moved = at.movedTo != 0
		return err
	})
	return moved, err
}

// place is where a repository is.
type place struct {
	installation int64
	movedTo      int64 // the repository's id, if it has another name by now; else 0
}

// byID is where GitHub redirects requests about a repository that has moved.
var byID = regexp.MustCompile(`/repositories/(\d+)/installation$`)

// find returns the installation that has the repository.
func find(ctx context.Context, client *github.Client, r broker.Repository) (place, error) {
	found, resp, err := client.Apps.FindRepositoryInstallation(ctx, r.Owner(), r.Name())
	if err != nil {
		return place{}, explain(err, "look up installation for "+r.String())
	}
	if !found.GetSuspendedAt().IsZero() {
		return place{}, fmt.Errorf("%w: installation %d of the GitHub App is suspended", broker.ErrRefused, found.GetID())
	}
	at := place{installation: found.GetID()}
	if m := byID.FindStringSubmatch(resp.Request.URL.Path); m != nil {
		if _, err := fmt.Sscan(m[1], &at.movedTo); err != nil {
			return place{}, fmt.Errorf("%w: repository id out of range", broker.ErrUnavailable)
		}
	}
	return at, nil
}

// revoke ends an installation token.
func (i *Issuer) revoke(ctx context.Context, token string) error {
	client := i.client(bearer(token))
	resp, err := client.Apps.RevokeInstallationToken(ctx)
	if resp != nil && resp.StatusCode == http.StatusUnauthorized {
		return nil // it isn't accepted any more
	}
	if err != nil {
		return fmt.Errorf("revoke installation token: %w", explain(err, "revoke"))
	}
	return nil
}

// client returns a client whose every request carries what authorize returns.
func (i *Issuer) client(authorize func() (string, error)) *github.Client {
	client := github.NewClient(&http.Client{Transport: &transport{base: i.options.Transport, host: i.api.Host, authorize: authorize}})
	client.BaseURL = i.api
	client.UserAgent = userAgent
	// The Broker remembers limits for all sandboxes, and git waits meanwhile.
	client.DisableRateLimitCheck = true
	return client
}

func bearer(token string) func() (string, error) {
	return func() (string, error) { return cmp.Or(token, "none"), nil }
}

// transport authorizes requests to the API, and to nobody else that it may
// redirect to.
type transport struct {
	base      http.RoundTripper
	host      string
	authorize func() (string, error)
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" || r.URL.Host != t.host {
		return nil, errors.New("the API redirects to another host")
	}
	token, err := t.authorize()
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return t.base.RoundTrip(r)
}

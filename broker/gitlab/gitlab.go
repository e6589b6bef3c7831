// Package gitlab mints project access tokens, on gitlab.com or a GitLab of one's
// own. A project's token reaches that project alone; what it may do there is
// asked for explicitly, and what comes back is verified.
//
// GitLab ends such tokens at midnight at the earliest, so it is the broker that
// ends them in time, by revoking them.
package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

const (
	dotCom = "gitlab.com"
	// username goes with every token; GitLab takes any.
	username  = "oauth2"
	userAgent = "sallyport"
	httpsPort = 443
	apiPath   = "/api/v4"
	cleanUp   = 5 * time.Second
)

// Options of an Issuer. Token is required.
type Options struct {
	Host   policy.Host // of the projects; zero means gitlab.com
	APIURL string      // empty means /api/v4 of Host
	// Token is one that may make access tokens of the projects: of a
	// maintainer or their group, with scope "api".
	Token broker.SecretReader
	// WithAPI lets the tokens use the REST API besides git.
	WithAPI   bool
	Transport http.RoundTripper // nil means http.DefaultTransport
}

// Issuer is a [broker.Issuer] that stands on one token.
type Issuer struct {
	options Options
	api     *url.URL
	apiHost policy.Host
}

var (
	_ broker.Issuer    = (*Issuer)(nil)
	_ broker.Describer = (*Issuer)(nil)
)

// New checks the options. It reads no token and asks nobody yet.
func New(o Options) (*Issuer, error) {
	if o.Host.IsZero() {
		o.Host, _ = policy.CanonicalHost(dotCom)
	}
	if o.APIURL == "" {
		o.APIURL = "https://" + o.Host.String() + apiPath
	}
	api, err := url.Parse(strings.TrimSuffix(o.APIURL, "/"))
	if err != nil || api.Scheme != "https" || api.User != nil || api.RawQuery != "" || !strings.HasSuffix(api.Path, apiPath) {
		return nil, errors.New("api_url: expected an https URL such as https://gitlab.example.com/api/v4")
	}
	host, port, err := policy.CanonicalAuthority(api.Host, httpsPort)
	if err != nil {
		return nil, fmt.Errorf("api_url: %w", err)
	}
	if port != httpsPort {
		host = policy.Host{}
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	return &Issuer{options: o, api: api, apiHost: host}, nil
}

// Host implements [broker.Issuer].
func (i *Issuer) Host() policy.Host { return i.options.Host }

// API implements [broker.Describer].
func (i *Issuer) API() broker.API {
	return broker.API{Host: i.apiHost, Prefix: i.api.Path, Style: broker.GitLabStyle}
}

// Issue implements [broker.Issuer].
func (i *Issuer) Issue(ctx context.Context, r broker.Request) (broker.Credential, error) {
	client, err := i.client(ctx)
	if err != nil {
		return broker.Credential{}, err
	}
	at := "project " + r.Repository.String()
	project, _, err := client.Projects.GetProject(r.Repository.String(), nil, gitlab.WithContext(ctx))
	if err != nil {
		return broker.Credential{}, explain(err, "look up "+at)
	}
	if name, err := broker.CanonicalRepository(project.PathWithNamespace); err != nil || name != r.Repository {
		return broker.Credential{}, fmt.Errorf("%w: %s is another one by now", broker.ErrRefused, at)
	}
	asked := i.scope(r.Access)
	tomorrow := gitlab.ISOTime(time.Now().UTC().AddDate(0, 0, 1))
	token, _, err := client.ProjectAccessTokens.CreateProjectAccessToken(project.ID, &gitlab.CreateProjectAccessTokenOptions{
		Name: gitlab.Ptr("sallyport-" + string(r.Access)), Scopes: &asked.scopes, AccessLevel: &asked.level, ExpiresAt: &tomorrow,
	}, gitlab.WithContext(ctx))
	if err != nil {
		return broker.Credential{}, explain(err, fmt.Sprintf("make an access token of %s with scopes %s", at, strings.Join(asked.scopes, ",")))
	}
	got := broker.Credential{
		Username: username, Password: secret.NewValue([]byte(token.Token)), Expires: end(token.ExpiresAt),
		Revoke: func(ctx context.Context) error { return i.revoke(ctx, project.ID, token.ID) },
	}
	if err := asked.verify(token); err != nil {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
		defer cancel()
		return broker.Credential{}, errors.Join(fmt.Errorf("%w: %w", broker.ErrMisconfigured, err), got.Revoke(clean))
	}
	return got, nil
}

// scope is what a token may do.
type scope struct {
	scopes []string
	level  gitlab.AccessLevelValue
}

func (i *Issuer) scope(access broker.Access) scope {
	s := scope{[]string{"read_repository"}, gitlab.ReporterPermissions}
	if access == broker.Write {
		s = scope{[]string{"read_repository", "write_repository"}, gitlab.DeveloperPermissions}
	}
	if i.options.WithAPI {
		s.scopes = append(s.scopes, map[broker.Access]string{broker.Read: "read_api", broker.Write: "api"}[access])
	}
	slices.Sort(s.scopes)
	return s
}

// verify holds a token against what was asked for. More is as wrong as less.
func (s scope) verify(t *gitlab.ProjectAccessToken) error {
	got := slices.Sorted(slices.Values(t.Scopes))
	switch {
	case t.Token == "" || t.ExpiresAt == nil:
		return errors.New("GitLab's answer has no token or no end")
	case !slices.Equal(got, s.scopes):
		return fmt.Errorf("GitLab made a token with scopes %s in place of %s", strings.Join(got, ","), strings.Join(s.scopes, ","))
	case t.AccessLevel != s.level:
		return fmt.Errorf("GitLab made a token of access level %d in place of %d", t.AccessLevel, s.level)
	}
	return nil
}

// end is when GitLab ends a token: with the beginning of a day, in UTC.
func end(day *gitlab.ISOTime) time.Time {
	if day == nil {
		return time.Time{}
	}
	return time.Time(*day).UTC()
}

// revoke ends a token. One that isn't there any more has ended.
func (i *Issuer) revoke(ctx context.Context, project, token int64) error {
	client, err := i.client(ctx)
	if err != nil {
		return err
	}
	if _, err := client.ProjectAccessTokens.RevokeProjectAccessToken(project, token, gitlab.WithContext(ctx)); err != nil && !errors.Is(err, gitlab.ErrNotFound) {
		return explain(err, "revoke an access token")
	}
	return nil
}

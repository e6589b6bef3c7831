package vault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/hashicorp/go-cleanhttp"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/hashicorp/vault/api"
)

// BoundaryHeader carries the id of the boundary that a request is for.
const BoundaryHeader = "X-Sallyport-Boundary"

// Retries of one request. The context's deadline bounds them all, so that a
// longer Retry-After ends as a time-out.
const (
	maxRetries   = 2
	minRetryWait = 200 * time.Millisecond
	maxRetryWait = time.Second
)

// errRedirect is a redirect that would take our token elsewhere.
var errRedirect = errors.New("redirected to a host that isn't allowed")

// newClient returns a client without a token. It reads the files of o.TLS.
func newClient(o Options) (*api.Client, error) {
	transport := cleanhttp.DefaultPooledTransport()
	config := &api.Config{
		Address:      o.Address,
		HttpClient:   &http.Client{Transport: transport, CheckRedirect: keepRedirect},
		MinRetryWait: minRetryWait,
		MaxRetryWait: maxRetryWait,
		MaxRetries:   maxRetries,
		Backoff:      retryablehttp.RateLimitLinearJitterBackoff,
		CheckRetry:   checkRetry,
	}
	transport.TLSClientConfig = minimumTLS()
	err := config.ConfigureTLS(&api.TLSConfig{
		CACert: o.TLS.CAFile, ClientCert: o.TLS.CertFile, ClientKey: o.TLS.KeyFile, TLSServerName: o.TLS.ServerName,
	})
	if err != nil {
		return nil, fmt.Errorf("configure TLS: %w", err)
	}
	config.HttpClient.Transport = guarded{transport, o.RedirectHosts}
	client, err := api.NewClient(config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	// NewClient takes these from the environment, api v1.23.0; whoever wants
	// that says so in o.
	client.ClearToken()
	client.SetHeaders(http.Header{api.RequestHeaderName: {"true"}})
	if o.Namespace != "" {
		client.SetNamespace(o.Namespace)
	}
	return client, nil
}

// keepRedirect leaves redirects to the API client, which follows one.
func keepRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if errors.Is(err, errRedirect) {
		return false, err
	}
	return api.DefaultRetryPolicy(ctx, resp, err)
}

// guarded refuses redirects to hosts that aren't allowed: the API client would
// follow one with the token in its header, api v1.23.0.
type guarded struct {
	*http.Transport
	allowed []string
}

// RoundTrip implements [http.RoundTripper].
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := g.Transport.RoundTrip(r)
	if err != nil || resp.StatusCode < 300 || resp.StatusCode > 399 {
		return resp, err
	}
	target, err := resp.Location()
	if err == nil && target.Scheme == r.URL.Scheme && (target.Host == r.URL.Host || slices.Contains(g.allowed, target.Host)) {
		return resp, nil
	}
	resp.Body.Close()
	return nil, errRedirect
}

// as returns a client whose requests are for a boundary and, unless it is
// empty, with a token of its own.
func as(c *api.Client, boundary, token string) *api.Client {
	return c.WithRequestCallbacks(func(r *api.Request) {
		if boundary != "" {
			r.Headers.Set(BoundaryHeader, boundary)
		}
		if token != "" {
			r.ClientToken = token
		}
	})
}

// Package oauth2 gets access tokens for client secrets and refresh tokens (RFC
// 6749 §4.4 and §6), and for the keys of Google service accounts (RFC 7523).
//
// Promise: the one host that is asked is that of the binding's token endpoint,
// over TLS, redirects are not followed, and no error quotes what was sent or
// what came back.
package oauth2

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/secret"
)

// Exchanger is the [inject.Exchanger] of [inject.KindClientCredentials] and
// [inject.KindRefreshToken].
type Exchanger struct {
	// Transport reaches the endpoint. Required.
	Transport http.RoundTripper
}

var _ inject.Exchanger = Exchanger{}

// Exchange implements [inject.Exchanger].
func (e Exchanger) Exchange(ctx context.Context, g inject.Grant) (inject.Token, error) {
	o := g.Options.OAuth2
	config := clientcredentials.Config{
		ClientID: o.ClientID, ClientSecret: string(g.Secret.Reveal()),
		TokenURL: o.TokenURL, Scopes: o.Scopes, EndpointParams: url.Values{},
		AuthStyle: oauth2.AuthStyleInHeader,
	}
	for key, value := range o.Params {
		config.EndpointParams.Set(key, value)
	}
	if g.Options.Kind == inject.KindRefreshToken {
		config.ClientSecret = string(g.ClientSecret.Reveal())
		config.EndpointParams.Set("grant_type", "refresh_token")
		config.EndpointParams.Set("refresh_token", string(g.Secret.Reveal()))
	}
	if o.SecretInBody || config.ClientSecret == "" {
		// A public client has nothing to prove and says who it is in the body.
		config.AuthStyle = oauth2.AuthStyleInParams
	}
	asking, err := client(e.Transport, o.TokenURL)
	if err != nil {
		return inject.Token{}, err
	}
	token, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, asking))
	if err != nil {
		return inject.Token{}, refused(err)
	}
	return issuedBy(token), nil
}

// client returns a client that reaches the host of a token endpoint and no
// other.
func client(by http.RoundTripper, tokenURL string) (*http.Client, error) {
	u, err := url.Parse(tokenURL)
	if err != nil || u.Scheme != "https" {
		return nil, fmt.Errorf("token endpoint is no https URL: %w", secret.ErrUnavailable)
	}
	return &http.Client{
		Transport:     only{by, u.Host},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// only is a transport for one host.
type only struct {
	http.RoundTripper
	host string
}

func (o only) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" || r.URL.Host != o.host {
		return nil, errors.New("not the token endpoint")
	}
	return o.RoundTripper.RoundTrip(r)
}

// issuedBy is what an endpoint issued.
func issuedBy(token *oauth2.Token) inject.Token {
	return inject.Token{
		Value:   secret.NewValue([]byte(token.AccessToken)),
		Expires: token.Expiry,
		Refresh: secret.NewValue([]byte(token.RefreshToken)),
	}
}

// errorCode is what RFC 6749 §5.2 has for codes: nothing that holds a value.
var errorCode = regexp.MustCompile(`^[a-z_]{1,40}$`)

// refused says why there is no token, without what the library quotes.
func refused(err error) error {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) {
		return fmt.Errorf("ask token endpoint: failed with %T: %w", err, secret.ErrUnavailable)
	}
	code := "without a code"
	if errorCode.MatchString(answer.ErrorCode) {
		code = answer.ErrorCode
	}
	status := 0
	if answer.Response != nil {
		status = answer.Response.StatusCode
	}
	kind := secret.ErrUnavailable
	if status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusBadRequest {
		kind = secret.ErrDenied
	}
	return fmt.Errorf("token endpoint answered %d, %s: %w", status, code, kind)
}

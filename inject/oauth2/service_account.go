package oauth2

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	gojwt "github.com/golang-jwt/jwt/v5"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"

	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/secret"
)

const (
	tokenURL = "https://oauth2.googleapis.com/token" //nolint:gosec // an address, no credential
	lasts    = time.Hour
	// backDated is for a server whose clock is behind.
	backDated = 10 * time.Second
)

// ServiceAccounts is the [inject.Exchanger] of [inject.KindServiceAccount]. The
// endpoint that it asks is the binding's, never the one that a key names, and
// the key itself goes nowhere.
type ServiceAccounts struct {
	// Transport reaches the endpoint. Required.
	Transport http.RoundTripper
}

var _ inject.Exchanger = ServiceAccounts{}

// key is the file that is downloaded for a service account.
type key struct {
	Type         string `json:"type"`
	ClientEmail  string `json:"client_email"`
	PrivateKeyID string `json:"private_key_id"`
	PrivateKey   string `json:"private_key"`
}

// Exchange implements [inject.Exchanger].
func (e ServiceAccounts) Exchange(ctx context.Context, g inject.Grant) (inject.Token, error) {
	var k key
	if json.Unmarshal(g.Secret.Reveal(), &k) != nil || k.Type != "service_account" || k.ClientEmail == "" || k.PrivateKey == "" {
		return inject.Token{}, fmt.Errorf("value is no key of a service account: %w", secret.ErrUnavailable)
	}
	o := g.Options.Google
	if o.Audience != "" {
		return k.sign(o.Audience)
	}
	at := cmp.Or(o.TokenURL, tokenURL)
	asking, err := client(e.Transport, at)
	if err != nil {
		return inject.Token{}, err
	}
	config := jwt.Config{
		Email: k.ClientEmail, PrivateKey: []byte(k.PrivateKey), PrivateKeyID: k.PrivateKeyID,
		Subject: o.Subject, Scopes: o.Scopes, TokenURL: at, Expires: lasts,
	}
	token, err := config.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, asking)).Token()
	if err != nil {
		return inject.Token{}, refused(err)
	}
	issued := issuedBy(token)
	issued.Refresh = secret.Value{}
	return issued, nil
}

// sign makes a JWT for an audience.
func (k key) sign(audience string) (inject.Token, error) {
	private, err := gojwt.ParseRSAPrivateKeyFromPEM([]byte(k.PrivateKey))
	if err != nil {
		return inject.Token{}, fmt.Errorf("private key of the service account is no RSA key in PEM: %w", secret.ErrUnavailable)
	}
	now := time.Now()
	expires := now.Add(lasts)
	token := gojwt.NewWithClaims(gojwt.SigningMethodRS256, gojwt.MapClaims{
		"iss": k.ClientEmail, "sub": k.ClientEmail, "aud": audience,
		"iat": now.Add(-backDated).Unix(), "exp": expires.Add(-backDated).Unix(),
	})
	token.Header["kid"] = k.PrivateKeyID
	signed, err := token.SignedString(private)
	if err != nil {
		return inject.Token{}, fmt.Errorf("sign JWT of the service account: %w", secret.ErrUnavailable)
	}
	return inject.Token{Value: secret.NewValue([]byte(signed)), Expires: expires.Add(-backDated)}, nil
}

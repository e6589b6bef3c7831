package sigv4

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/secret"
)

// Signer is the [inject.Signer] of [inject.KindAWS]. The zero value is ready.
type Signer struct{}

var _ inject.Signer = Signer{}

// Sign implements [inject.Signer].
func (Signer) Sign(_ context.Context, r *http.Request, with inject.Signing) error {
	claim, err := claimOf(r)
	if err != nil {
		return err
	}
	if err := claim.check(with); err != nil {
		return err
	}
	keys, err := keysOf(with)
	if err != nil {
		return err
	}
	if err := canonicalQuery(r.URL); err != nil {
		return err
	}
	payload, err := claim.payload(r)
	if err != nil {
		return err
	}
	seed, err := claim.sign(r, keys, payload)
	if err != nil {
		return err
	}
	return claim.resign(r, payload, keys, seed)
}

// keysOf returns the real credentials.
func keysOf(with inject.Signing) (aws.Credentials, error) {
	value := with.Secret.Reveal()
	keys := aws.Credentials{
		AccessKeyID:     string(with.KeyID.Reveal()),
		SecretAccessKey: string(value),
		SessionToken:    string(with.Token.Reveal()),
	}
	if a := with.Options.AWS; a != nil && a.AccessKeyID != "" {
		keys.AccessKeyID = a.AccessKeyID
	}
	if strings.HasPrefix(strings.TrimSpace(string(value)), "{") {
		var pair struct{ AccessKeyId, SecretAccessKey, SessionToken string } //nolint:revive // the names of the format
		if json.Unmarshal(value, &pair) != nil {
			return aws.Credentials{}, fmt.Errorf("sign with %s: value is neither a key nor a JSON object: %w", with.Options.Secret, secret.ErrUnavailable)
		}
		keys.AccessKeyID, keys.SecretAccessKey = pair.AccessKeyId, pair.SecretAccessKey
		if pair.SessionToken != "" {
			keys.SessionToken = pair.SessionToken
		}
	}
	if keys.AccessKeyID == "" || keys.SecretAccessKey == "" {
		return aws.Credentials{}, fmt.Errorf("sign with %s: no access key id or no secret access key: %w", with.Options.Secret, secret.ErrUnavailable)
	}
	if strings.ContainsAny(keys.AccessKeyID, "/, \r\n") || secret.CheckHeader([]byte(keys.AccessKeyID)) != nil ||
		keys.SessionToken != "" && secret.CheckHeader([]byte(keys.SessionToken)) != nil {
		return aws.Credentials{}, fmt.Errorf("sign with %s: no header can carry the key id or the session token: %w", with.Options.Secret, secret.ErrUnavailable)
	}
	return keys, nil
}

// check refuses what the binding doesn't sign for.
func (c *claim) check(with inject.Signing) error {
	if c.keyID != with.Placeholder {
		return refuse("the signature is not by the placeholder of " + with.Options.Env)
	}
	a := with.Options.AWS
	if a == nil {
		return nil
	}
	if len(a.Services) > 0 && !slices.Contains(a.Services, c.service) {
		return refuse("signed for a service that the binding does not sign for")
	}
	if len(a.Regions) > 0 && !slices.Contains(a.Regions, c.region) {
		return refuse("signed for a region that the binding does not sign for")
	}
	return nil
}

// sign puts the new signature into r and returns it.
func (c *claim) sign(r *http.Request, keys aws.Credentials, payload payload) (string, error) {
	signed := c.signedPart(r)
	signer := v4.NewSigner(func(o *v4.SignerOptions) {
		// S3 alone takes the path as it is sent.
		o.DisableURIPathEscaping = c.service == "s3" || strings.HasPrefix(c.service, "s3-")
		o.DisableHeaderHoisting = true
	})
	ctx := context.Background() // nothing but a logger would be taken from it
	if c.presigned {
		uri, _, err := signer.PresignHTTP(ctx, keys, signed, payload.hash, c.service, c.region, c.date)
		if err != nil {
			return "", errors.New("sign presigned URL: " + err.Error())
		}
		u, err := url.Parse(uri)
		if err != nil {
			return "", fmt.Errorf("sign presigned URL: %w", err)
		}
		r.URL.RawQuery = u.RawQuery
		return u.Query().Get(paramSignature), nil
	}
	if err := signer.SignHTTP(ctx, keys, signed, payload.hash, c.service, c.region, c.date); err != nil {
		return "", fmt.Errorf("sign request: %w", err)
	}
	r.Header[headerAuthorization] = signed.Header[headerAuthorization]
	r.Header[headerDate] = signed.Header[headerDate]
	if token, ok := signed.Header[headerToken]; ok {
		r.Header[headerToken] = token
	}
	_, signature, _ := strings.Cut(signed.Header.Get(headerAuthorization), "Signature=")
	return signature, nil
}

// signedPart is r with the headers that the client signed, and no others: the
// rest may change on its way.
func (c *claim) signedPart(r *http.Request) *http.Request {
	part := &http.Request{Method: r.Method, URL: new(url.URL), Host: r.Host, Header: http.Header{}}
	*part.URL = *r.URL
	for _, name := range c.headers {
		if values := r.Header[name]; len(values) > 0 {
			part.Header[name] = values
		}
		if name == "Content-Length" {
			part.ContentLength = max(r.ContentLength, 0)
		}
	}
	return part
}

// refuse is an error that is the sandbox's fault.
func refuse(problem string) error {
	return &inject.RequestError{Header: "", Problem: "AWS signature: " + problem}
}

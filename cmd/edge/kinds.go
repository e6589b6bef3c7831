package main

import (
	"net/http"

	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/bodymac"
	"github.com/sallyport/sallyport/inject/oauth2"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/sigv4"
)

// signers make the signatures of those kinds of binding that have any.
var signers = map[inject.Kind]inject.Signer{
	inject.KindAWS:  sigv4.Signer{},
	inject.KindHMAC: bodymac.Signer{},
}

// newResolver returns what reads the secrets of sources and works with them.
// Token endpoints are reached as sandboxes reach the world: by the guarded
// dialer, to verified peers.
func newResolver(c *config.Config, sources map[string]secret.Source, transport http.RoundTripper) *inject.Resolver {
	tokens := oauth2.Exchanger{Transport: transport}
	return inject.NewResolverWith(inject.ResolverOptions{
		Sources: sources,
		Signers: signers,
		Exchangers: map[inject.Kind]inject.Exchanger{
			inject.KindClientCredentials: tokens,
			inject.KindRefreshToken:      tokens,
			inject.KindServiceAccount:    oauth2.ServiceAccounts{Transport: transport},
		},
		TTL:      inject.DefaultTTL,
		StaleFor: c.Sources.StaleFor,
	})
}

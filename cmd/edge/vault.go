package main

import (
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/inject/vault"
)

// newVault returns the Vault of the configuration, or nil if it has none. What
// a boundary was issued is revoked once it is no more in table.
func newVault(c *config.Config, table *boundary.Table) (*vault.Source, error) {
	v := c.Sources.Vault
	if v == nil {
		return nil, nil
	}
	return vault.New(vault.Options{
		Address:   v.Address,
		Namespace: v.Namespace,
		TLS:       vault.TLS{CAFile: v.CAFile, CertFile: v.CertFile, KeyFile: v.KeyFile, ServerName: v.ServerName},
		Auth: vault.Auth{
			Method:          vault.Method(v.Auth.Method),
			Mount:           v.Auth.Mount,
			TokenFile:       v.Auth.TokenFile,
			Role:            v.Auth.Role,
			JWTFile:         v.Auth.JWTFile,
			RoleID:          v.Auth.RoleID,
			SecretIDFile:    v.Auth.SecretIDFile,
			SecretIDWrapped: v.Auth.SecretIDWrapped,
		},
		RedirectHosts:  v.RedirectHosts,
		BoundaryTokens: v.BoundaryTokens,
		Open:           func(id string) bool { return table.Get(id) != nil },
	})
}

// ownFiles are those that a "file:" secret may not name: whoever may open
// boundaries chooses what is read, but not the CA key or the store's, nor what
// the kernel shows of this process, nor what proves it to others.
func ownFiles(c *config.Config) []string {
	own := []string{c.State, "/proc"}
	if f := c.Upstream.ProxyCredentialsFile; f != "" {
		own = append(own, f)
	}
	if v := c.Sources.Vault; v != nil {
		for _, f := range []string{v.KeyFile, v.Auth.TokenFile, v.Auth.JWTFile, v.Auth.SecretIDFile, vault.ServiceAccountJWT} {
			if f != "" {
				own = append(own, f)
			}
		}
	}
	return own
}

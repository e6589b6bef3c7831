package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/inject/vault"
)

// vaultFromEnvironment returns the Vault that the variables of its own command
// line name, with the token of VAULT_TOKEN or the one that "vault login" left.
func vaultFromEnvironment() (*vault.Source, error) {
	address := os.Getenv("VAULT_ADDR")
	if address == "" {
		return nil, errors.New("set VAULT_ADDR to the address of your Vault")
	}
	auth := vault.Auth{Method: vault.AuthToken, Token: os.Getenv("VAULT_TOKEN")}
	if auth.Token == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, errors.New("set VAULT_TOKEN, or log in with vault login")
		}
		auth.TokenFile = filepath.Join(home, ".vault-token")
	}
	return vault.New(vault.Options{
		Address:   address,
		Namespace: os.Getenv("VAULT_NAMESPACE"),
		TLS: vault.TLS{
			CAFile:     os.Getenv("VAULT_CACERT"),
			CertFile:   os.Getenv("VAULT_CLIENT_CERT"),
			KeyFile:    os.Getenv("VAULT_CLIENT_KEY"),
			ServerName: os.Getenv("VAULT_TLS_SERVER_NAME"),
		},
		Auth: auth,
	})
}

// keepLeases renews what v issues until the returned function ends it and
// revokes the leases.
func keepLeases(ctx context.Context, v *vault.Source) func(context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- v.Serve(ctx, slog.Default()) }()
	return func(ctx context.Context) error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

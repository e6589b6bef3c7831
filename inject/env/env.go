// Package env is the secret source over the variables of the edge's own
// process. It suits a single run and containers that are handed secrets that
// way; a variable can't be rotated without a restart.
//
// Security promise: a variable that is unset or empty is no secret, so that a
// forgotten one refuses requests and never sends an empty credential.
package env

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/sallyport/sallyport/inject/secret"
)

// Source reads variables of this process. The zero value is ready and safe for
// concurrent use.
type Source struct{}

var _ secret.Source = Source{}

// Read implements [secret.Source]; name is the variable. The value is taken as
// it stands; there are no versions.
func (Source) Read(ctx context.Context, name string) (secret.Secret, error) {
	if err := ctx.Err(); err != nil {
		return secret.Secret{}, fmt.Errorf("read variable %q: %w: %w", name, secret.ErrUnavailable, err)
	}
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return secret.Secret{}, fmt.Errorf("read variable %q: not the name of a variable: %w", name, secret.ErrNotFound)
	}
	value, set := os.LookupEnv(name)
	switch {
	case !set:
		return secret.Secret{}, fmt.Errorf("read variable %q: not set in this process: %w", name, secret.ErrNotFound)
	case value == "":
		return secret.Secret{}, fmt.Errorf("read variable %q: set but empty: %w", name, secret.ErrNotFound)
	}
	if err := secret.CheckSize([]byte(value)); err != nil {
		return secret.Secret{}, fmt.Errorf("read variable %q: %w", name, err)
	}
	return secret.Secret{Value: secret.NewValue([]byte(value))}, nil
}

package static_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/broker/issuertest"
	"github.com/sallyport/sallyport/broker/static"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

func reader(value string) broker.SecretReader {
	return func(context.Context) (secret.Secret, error) {
		return secret.Secret{Value: secret.NewValue([]byte(value))}, nil
	}
}

func open(t *testing.T, tokens map[string]broker.SecretReader) *static.Issuer {
	t.Helper()
	host, err := policy.CanonicalHost("git.example.com")
	if err != nil {
		t.Fatal(err)
	}
	o := static.Options{Host: host, Tokens: map[broker.Request]broker.SecretReader{}}
	for key, read := range tokens {
		access, path, _ := cut(key)
		r, err := broker.CanonicalRepository(path)
		if err != nil {
			t.Fatal(err)
		}
		o.Tokens[broker.Request{Repository: r, Access: access}] = read
	}
	return static.New(o)
}

func cut(key string) (broker.Access, string, bool) {
	for i := range key {
		if key[i] == ' ' {
			return broker.Access(key[:i]), key[i+1:], true
		}
	}
	return "", key, false
}

// Ledger: GB-11. The forge of this suite knows each token by what it is for.
func TestSuite(t *testing.T) {
	t.Parallel()
	issuertest.Run(t, func(t *testing.T) issuertest.Fixture {
		tokens := map[string]broker.SecretReader{}
		for _, key := range []string{"read octo/app", "write octo/app", "read octo/other", "write octo/other"} {
			tokens[key] = reader(key)
		}
		return issuertest.Fixture{
			Issuer: open(t, tokens), Granted: "octo/app", Other: "octo/other", Missing: "octo/missing",
			Allows: func(c broker.Credential, repository string) broker.Access {
				access, path, _ := cut(string(c.Password.Reveal()))
				if path != repository {
					return ""
				}
				return access
			},
		}
	})
}

// A token that may write isn't handed out for a grant to read.
func TestTokenOfAnotherAccess(t *testing.T) {
	t.Parallel()
	issuer := open(t, map[string]broker.SecretReader{"write octo/app": reader("c4nary")})
	r, err := broker.CanonicalRepository("octo/app")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := issuer.Issue(t.Context(), broker.Request{Repository: r, Access: broker.Read}); !errors.Is(err, broker.ErrRefused) {
		t.Errorf("error %v", err)
	}
}

func TestSourceThatFails(t *testing.T) {
	t.Parallel()
	for source, want := range map[error]error{
		secret.ErrNotFound: broker.ErrMisconfigured, secret.ErrDenied: broker.ErrMisconfigured,
		secret.ErrUnavailable: broker.ErrUnavailable, context.Canceled: broker.ErrUnavailable,
	} {
		issuer := open(t, map[string]broker.SecretReader{"read octo/app": func(context.Context) (secret.Secret, error) {
			return secret.Secret{}, source
		}})
		r, err := broker.CanonicalRepository("octo/app")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := issuer.Issue(t.Context(), broker.Request{Repository: r, Access: broker.Read}); !errors.Is(err, want) {
			t.Errorf("%v: error %v, want %v", source, err, want)
		}
	}
}

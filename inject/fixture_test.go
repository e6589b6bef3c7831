package inject_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/inject/memory"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

// plain is the secret of most tests.
const plain = "c4nary-Zq81+secret"

var testKey = inject.Key{1, 2, 3}

func host(t testing.TB, s string) policy.Host {
	t.Helper()
	h, err := policy.CanonicalHost(s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func https(t testing.TB, name string) inject.Destination {
	return inject.Destination{Scheme: "https", Host: host(t, name), Port: 443}
}

func compile(t testing.TB, bindings ...inject.Binding) *inject.Set {
	t.Helper()
	s, err := inject.Compile("box-1", bindings, testKey)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// holding returns a Resolver over a memory source with these values.
func holding(t testing.TB, values map[string]string) *inject.Resolver {
	t.Helper()
	source := memory.New()
	for name, value := range values {
		if err := source.Set(name, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	return inject.NewResolver(map[string]secret.Source{"memory": source})
}

// request returns a GET of url with headers given as name, value, name, ….
func request(url string, headers ...string) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// fixed is a source that answers every name with this value, also one that a
// real source would not accept.
type fixed string

func (f fixed) Read(context.Context, string) (secret.Secret, error) {
	return secret.Secret{Value: secret.NewValue([]byte(f))}, nil
}

func holdingAny(value string) *inject.Resolver {
	return inject.NewResolver(map[string]secret.Source{"memory": fixed(value)})
}

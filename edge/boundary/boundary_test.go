package boundary_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/inject"
)

func TestValidateID(t *testing.T) {
	t.Parallel()
	good := []string{"a", "ci", "sbx_01J", "0", "a.b-c_d", strings.Repeat("a", 128)}
	bad := []string{"", ".", "..", "../x", "a/b", "-a", "_a", "a b", "a:b", "a@b", "a\n", "é", strings.Repeat("a", 129)}
	for _, id := range good {
		if err := boundary.ValidateID(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range bad {
		if boundary.ValidateID(id) == nil {
			t.Errorf("%q accepted", id)
		}
	}
}

func TestCompileNamesTheWrongField(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		spec boundary.Spec
		want string
	}{
		{"no id", boundary.Spec{}, "id"},
		{"short digest", boundary.Spec{ID: "a", TokenSHA256: "abcd"}, "token_sha256"},
		{"binding without a host", boundary.Spec{ID: "a", Bindings: []inject.Binding{{Env: "A", Secret: "env:A"}}}, "bindings[0].host"},
		{"grant without an issuer", boundary.Spec{ID: "a", Git: []broker.Grant{{Repository: "octo/app"}}}, "git[0].issuer"},
		{"token instead of its digest", boundary.Spec{ID: "a", TokenSHA256: strings.Repeat("z", 64)}, "token_sha256"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := boundary.Compile(c.spec, inject.Key{})
			var e *boundary.Error
			if !errors.As(err, &e) || e.Path != c.want {
				t.Errorf("error %v, want one about %s", err, c.want)
			}
		})
	}
}

func TestCompileCopiesLabels(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"session": "s1"}
	b := compile(t, boundary.Spec{ID: "a", Labels: labels})
	labels["session"] = "s2"
	if b.Labels["session"] != "s1" {
		t.Error("a Boundary changes with its Spec")
	}
}

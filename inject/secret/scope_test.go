package secret_test

import (
	"testing"

	"github.com/sallyport/sallyport/inject/secret"
)

func TestScope(t *testing.T) {
	t.Parallel()
	if secret.ScopeOf(t.Context()) != nil || secret.BoundaryOf(t.Context()) != "" {
		t.Error("a bare context has a scope")
	}
	s := &secret.Scope{Boundary: "box-1"}
	ctx := secret.Within(t.Context(), s)
	if secret.ScopeOf(ctx) != s || secret.BoundaryOf(ctx) != "box-1" {
		t.Error("the scope is lost")
	}
}

package secret

import "context"

// Scope is for whom a secret is read: one opening of one boundary. Two
// openings never share a *Scope, even under the same id.
type Scope struct {
	// Boundary is the boundary's id.
	Boundary string
}

// scopeKey is the context key of a *Scope.
type scopeKey struct{}

// Within returns a context whose reads are for s. Sources that issue
// credentials of their own (leases) issue one for each boundary, and tell the
// server for which.
func Within(ctx context.Context, s *Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// ScopeOf returns the scope of ctx, or nil if its reads are for no boundary.
func ScopeOf(ctx context.Context) *Scope {
	s, _ := ctx.Value(scopeKey{}).(*Scope)
	return s
}

// BoundaryOf returns the id of the boundary that ctx's reads are for, or "".
func BoundaryOf(ctx context.Context) string {
	if s := ScopeOf(ctx); s != nil {
		return s.Boundary
	}
	return ""
}

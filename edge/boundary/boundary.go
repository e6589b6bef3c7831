// Package boundary is the one value that says all that may cross between a
// sandbox and the world: who it is, its compiled policy, its bindings, its
// limits. Every flow begins by looking it up.
//
// A [Spec] is the wire form that sandboxd or a configuration file sends;
// [Compile] makes the immutable [Boundary]; the [Table] holds one per id.
//
// Security promise: no boundary, no crossing. A Table that has just been made
// knows nobody, and a Spec that doesn't compile leaves the table as it was.
package boundary

import (
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/policy"
)

// Spec is the wire form of a boundary. ID is required; an absent policy denies
// every host.
type Spec struct {
	ID            string           `json:"id"`
	NetworkPolicy policy.Document  `json:"network_policy"`
	Bindings      []inject.Binding `json:"bindings,omitempty"`
	// TokenSHA256 is the hex digest of the token that proves this boundary in
	// proxy credentials; empty means that only its own listeners do.
	TokenSHA256 string `json:"token_sha256,omitempty"`
	// Labels (session, environment, …) are copied into each audit record.
	Labels map[string]string `json:"labels,omitempty"`
}

// Boundary is a compiled Spec: immutable, safe for concurrent use.
type Boundary struct {
	ID         string
	Policy     *policy.Policy
	Bindings   *inject.Set
	Labels     map[string]string
	Generation uint64 // grows with each replacement in a Table
	tokenHash  []byte
}

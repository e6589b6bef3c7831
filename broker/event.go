package broker

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/sallyport/sallyport/inject/secret"
)

// EventKind says what happened to a credential.
type EventKind string

const (
	Minted       EventKind = "git_credential_minted"
	MintFailed   EventKind = "git_mint_failed"
	Revoked      EventKind = "git_credential_revoked"
	RevokeFailed EventKind = "git_revoke_failed"
)

// Event is one mint or revocation, for the audit log.
type Event struct {
	Kind    EventKind
	Sandbox string
	Grant   Granted
	Access  Access    // of the credential
	Expires time.Time // zero: no end
	// TokenHash is the beginning of the token's SHA-256 in hex, by which the
	// forge's own log can be matched; empty if there is no token.
	TokenHash string
	Err       error // what failed; holds no credential
}

// hashLen is how many hexadecimal digits of a hash are recorded.
const hashLen = 16

// TokenHash returns what events call a token.
func TokenHash(v secret.Value) string {
	sum := sha256.Sum256(v.Reveal())
	return hex.EncodeToString(sum[:])[:hashLen]
}

// Package account is who calls the control API: an organisation's user with a
// role, known by an API key.
//
// Keys are random and stored as digests; a lost key can be replaced, never
// read.
package account

import "time"

// Role bounds what a key may do. The zero value may do nothing.
type Role string

// The roles; each may do what those before it may.
const (
	Viewer Role = "viewer" // read
	Member Role = "member" // use: runs, sessions
	Admin  Role = "admin"  // write environments, secrets, policies, keys
)

// A Caller is the authenticated author of a request.
type Caller struct {
	OrganizationID string
	UserID         string
	KeyID          string
	Role           Role
}

// A Key is the record of an API key. The key itself is shown once.
type Key struct {
	ID             string
	OrganizationID string
	UserID         string
	Role           Role
	Digest         [32]byte // SHA-256 of the key
	CreatedAt      time.Time
	ExpiresAt      time.Time // zero: never
}

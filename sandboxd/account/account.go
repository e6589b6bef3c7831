// Package account is who calls the control API: an organisation's user with a
// role, known by an API key.
//
// Security promise: keys are random and stored as digests; a lost key can be
// replaced, never read. The zero value of everything here may do nothing.
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

// Roles are all of them, the weakest first.
func Roles() []Role { return []Role{Viewer, Member, Admin} }

// May reports whether a caller with role r may do what needs least. An unknown
// role may do nothing, and nobody may do what needs an unknown one.
func (r Role) May(least Role) bool {
	have, need := r.rank(), least.rank()
	return have > 0 && need > 0 && have >= need
}

func (r Role) rank() int {
	switch r {
	case Viewer:
		return 1
	case Member:
		return 2
	case Admin:
		return 3
	default:
		return 0
	}
}

// A Caller is the authenticated author of a request.
type Caller struct {
	OrganizationID string
	UserID         string
	KeyID          string
	Role           Role
	RequestID      string // of the request, for the record of what it did
}

// An Organization owns environments and all that follows from them.
type Organization struct {
	ID        string // org_…
	Name      string
	CreatedAt time.Time
}

// A User acts for an organisation.
type User struct {
	ID             string // usr_…
	OrganizationID string
	Name           string
	CreatedAt      time.Time
}

// A Key is the record of an API key. The key itself is shown once.
type Key struct {
	ID             string // key_…
	OrganizationID string
	UserID         string
	Name           string // what its owner calls it; may be empty
	Role           Role
	Digest         [32]byte // SHA-256 of the key
	CreatedAt      time.Time
	ExpiresAt      time.Time // zero: never
	RevokedAt      time.Time // zero: it isn't
}

// Usable reports whether the key authenticates at now.
func (k Key) Usable(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// Caller returns whom a request with the key is from.
func (k Key) Caller() Caller {
	return Caller{OrganizationID: k.OrganizationID, UserID: k.UserID, KeyID: k.ID, Role: k.Role}
}

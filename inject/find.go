package inject

import "cmp"

// FindKind says what was found on its way out of a sandbox.
type FindKind string

const (
	// FoundPlaceholder: one of this boundary, where it isn't bound.
	FoundPlaceholder FindKind = "placeholder"
	// FoundHoney: a honey placeholder, which nothing has a reason to send.
	FoundHoney FindKind = "honey"
	// FoundStolen: a placeholder of another boundary of the same edge.
	FoundStolen FindKind = "stolen_placeholder"
	// FoundSecret: the value of a secret, which no sandbox should have.
	FoundSecret FindKind = "secret"
)

// rank orders kinds by how bad they are.
func (k FindKind) rank() int {
	switch k {
	case FoundSecret:
		return 4
	case FoundStolen:
		return 3
	case FoundHoney:
		return 2
	case FoundPlaceholder:
		return 1
	}
	return 0
}

// Critical reports whether a find should be impossible, or can only be meant.
func (k FindKind) Critical() bool { return k != FoundPlaceholder }

// Find is a placeholder or a secret on its way out of a sandbox. It holds
// names only: safe to log.
type Find struct {
	Kind  FindKind `json:"kind"`
	Env   string   `json:"env"`             // whose placeholder or value
	Owner string   `json:"owner,omitempty"` // FoundStolen: the boundary it is of
	Where string   `json:"where"`           // "header X-Name", "url", "body", "name"
}

// MisuseError: a request must not go out, because of what was found in it.
type MisuseError struct {
	Find
}

func (e *MisuseError) Error() string {
	switch e.Kind {
	case FoundSecret:
		return "value of " + e.Env + " in " + e.Where
	case FoundStolen:
		return "placeholder of " + e.Env + " of boundary " + e.Owner + " in " + e.Where
	case FoundHoney:
		return "honey placeholder " + e.Env + " in " + e.Where
	default:
		return "placeholder of " + e.Env + " in " + e.Where + " of a request it is not bound to"
	}
}

// worst collects finds and keeps the worst.
type worst struct {
	find  Find
	found bool
}

func (w *worst) add(f Find) {
	if cmp.Compare(f.Kind.rank(), w.find.Kind.rank()) > 0 {
		w.find, w.found = f, true
	}
}

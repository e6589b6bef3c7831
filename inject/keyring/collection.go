package keyring

import (
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strings"
)

// Collection is where a credential is: with an organisation, with a project, or
// in a vault. Exactly one of Org and Vault is set.
type Collection struct {
	Org     string
	Project string // of Org; empty: the organisation's own
	Vault   string // its id
}

var (
	idForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
)

// ParseCollection reads "org:ORG", "project:ORG:PROJECT" or "vault:ID".
func ParseCollection(text string) (Collection, error) {
	parts := strings.Split(text, ":")
	for _, id := range parts[1:] {
		if !idForm.MatchString(id) {
			return Collection{}, invalid("collection: malformed id")
		}
	}
	switch {
	case parts[0] == "org" && len(parts) == 2:
		return Collection{Org: parts[1]}, nil
	case parts[0] == "project" && len(parts) == 3:
		return Collection{Org: parts[1], Project: parts[2]}, nil
	case parts[0] == "vault" && len(parts) == 2:
		return Collection{Vault: parts[1]}, nil
	}
	return Collection{}, invalid("collection: want org:ORG, project:ORG:PROJECT or vault:ID")
}

// String returns the form that [ParseCollection] reads.
func (c Collection) String() string {
	switch {
	case c.Vault != "":
		return "vault:" + c.Vault
	case c.Project != "":
		return "project:" + c.Org + ":" + c.Project
	default:
		return "org:" + c.Org
	}
}

// stored is what the value of a credential is called in the store: the same
// whenever it is created again, so that versions only grow.
func stored(collection, name string) string {
	sum := sha256.Sum256([]byte(collection + "/" + name))
	return "k_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

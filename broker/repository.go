package broker

import (
	"errors"
	"strings"
)

// maxSegment is the longest owner or name in bytes; forges allow 100 at most.
const maxSegment = 100

// lfsSuffix is what git-lfs appends to the repository that it asks a
// credential for (its API is below it).
const lfsSuffix = ".git/info/lfs"

// Repository is a canonical repository: lower case, exactly owner/name. Only
// [CanonicalRepository] makes one; the zero value is none. Repositories are
// comparable.
type Repository struct{ owner, name string }

// CanonicalRepository reads the path of a repository as git asks for it, and
// is the only reader of grants too, so that both are compared alike. One
// ".git" is optional, as is what git-lfs appends, and a wiki is its repository.
// Refused are empty and dot segments, any other number of segments than two,
// and every byte but letters, digits, '.', '_' and '-': so percent signs,
// queries, fragments and backslashes (ledger GB-8).
func CanonicalRepository(path string) (Repository, error) {
	if before, found := strings.CutSuffix(path, lfsSuffix); found {
		path = before
	} else {
		path = strings.TrimSuffix(path, ".git")
	}
	// Before letters are mapped: Unicode has others whose lower case is ASCII.
	if strings.ContainsFunc(path, notInPath) {
		return Repository{}, errors.New("expected letters, digits, '.', '_' and '-'")
	}
	owner, name, found := strings.Cut(strings.ToLower(path), "/")
	if !found || strings.Contains(name, "/") {
		return Repository{}, errors.New("expected owner/repository")
	}
	name = strings.TrimSuffix(name, ".wiki")
	for _, segment := range []string{owner, name} {
		if err := checkSegment(segment); err != nil {
			return Repository{}, err
		}
	}
	return Repository{owner, name}, nil
}

func checkSegment(s string) error {
	switch {
	case s == "" || len(s) > maxSegment:
		return errors.New("owner or repository is empty or too long")
	case strings.Trim(s, ".") == "":
		return errors.New("a segment consists of dots")
	case s[0] == '-':
		return errors.New("a segment begins with a hyphen")
	case strings.HasSuffix(s, ".git") || strings.HasSuffix(s, ".wiki"):
		return errors.New("a segment ends in .git or .wiki")
	}
	return nil
}

func notInPath(c rune) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return false
	}
	return c != '.' && c != '_' && c != '-' && c != '/'
}

// Owner returns the account that the repository belongs to.
func (r Repository) Owner() string { return r.owner }

// Name returns the repository's name without its owner.
func (r Repository) Name() string { return r.name }

// IsZero reports whether r is no repository.
func (r Repository) IsZero() bool { return r.name == "" }

// String returns owner/name, or "" for none.
func (r Repository) String() string {
	if r.IsZero() {
		return ""
	}
	return r.owner + "/" + r.name
}

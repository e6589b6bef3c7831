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

// maxOwners is how many groups a repository may be in; GitLab allows 20.
const maxOwners = 20

// Repository is a canonical repository: lower case, owner/name, where the owner
// of a forge with groups may be several. Only [CanonicalRepository] makes one;
// the zero value is none. Repositories are comparable.
type Repository struct{ owner, name string }

// CanonicalRepository reads the path of a repository as git asks for it, and
// is the only reader of grants too, so that both are compared alike. One
// ".git" is optional, as is what git-lfs appends, and a wiki is its repository.
// Refused are empty and dot segments, a single segment and more than 21, and
// every byte but letters, digits, '.', '_' and '-': so percent signs,
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
	segments := strings.Split(strings.ToLower(path), "/")
	last := len(segments) - 1
	if last < 1 || last > maxOwners {
		return Repository{}, errors.New("expected owner/repository")
	}
	segments[last] = strings.TrimSuffix(segments[last], ".wiki")
	for _, segment := range segments {
		if err := checkSegment(segment); err != nil {
			return Repository{}, err
		}
	}
	return Repository{strings.Join(segments[:last], "/"), segments[last]}, nil
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

// Owner returns the account, or the groups, that the repository belongs to.
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

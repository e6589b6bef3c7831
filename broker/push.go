package broker

import (
	"errors"
	"fmt"
	"strings"

	"github.com/docker/go-units"
	"github.com/gobwas/glob"
)

// maxPatterns is how many patterns of refs a grant may have.
const maxPatterns = 50

// Push says what may be pushed, and nothing else may. What it doesn't mention
// is not allowed.
type Push struct {
	// Refs are patterns of whole names, "refs/heads/agent/*": "*" is any text
	// without a slash, "**" any text. Empty means every branch.
	Refs   []string `json:"refs,omitempty"`
	Force  bool     `json:"force,omitempty"`  // a ref may be moved to what isn't built on it
	Delete bool     `json:"delete,omitempty"` // a ref may be deleted
	// Tags allows tags to be made, whatever Refs says; to move one takes Force.
	Tags bool `json:"tags,omitempty"`
	// MaxPack is the longest pack of one push, "100MiB"; empty means any.
	MaxPack string `json:"max_pack,omitempty"`
}

// PushRules is a checked Push: immutable, safe for concurrent use.
type PushRules struct {
	refs                []*glob.Pattern
	force, delete, tags bool
	maxPack             int64
}

// Change is what a push does to a ref.
type Change int

// The zero Change is the one that needs most.
const (
	Move Change = iota
	Create
	Remove
)

const (
	tagPrefix   = "refs/tags/"
	allBranches = "refs/heads/**"
)

func (p Push) compile() (*PushRules, error) {
	r := &PushRules{force: p.Force, delete: p.Delete, tags: p.Tags}
	if len(p.Refs) > maxPatterns {
		return nil, fmt.Errorf("more than %d patterns of refs", maxPatterns)
	}
	if len(p.Refs) == 0 {
		p.Refs = []string{allBranches}
	}
	for _, pattern := range p.Refs {
		if !strings.HasPrefix(pattern, "refs/") || strings.ContainsFunc(pattern, notInPattern) {
			return nil, fmt.Errorf("expected refs such as \"refs/heads/agent/*\", found %.80q", pattern)
		}
		if strings.HasPrefix(pattern, tagPrefix) {
			return nil, fmt.Errorf("expected tags in place of %.80q", pattern)
		}
		compiled, err := glob.Compile(pattern, '/')
		if err != nil {
			return nil, fmt.Errorf("pattern %.80q: %w", pattern, err)
		}
		r.refs = append(r.refs, compiled)
	}
	if p.MaxPack != "" {
		size, err := units.RAMInBytes(p.MaxPack)
		if err != nil || size <= 0 {
			return nil, errors.New("expected max_pack such as \"100MiB\"")
		}
		r.maxPack = size
	}
	return r, nil
}

// notInPattern leaves "*" as the only character with a meaning.
func notInPattern(c rune) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return false
	}
	return !strings.ContainsRune("/*._-+@#=,", c)
}

// Refuse says why a change of a ref isn't allowed, or "". That a Move is no
// rewind is for the caller to find out, unless [PushRules.Force].
func (r *PushRules) Refuse(ref string, change Change) string {
	if strings.HasPrefix(ref, tagPrefix) {
		return r.refuseTag(change)
	}
	allowed := false
	for _, pattern := range r.refs {
		allowed = allowed || pattern.Match(ref)
	}
	switch {
	case !allowed:
		return "this sandbox may not push to this ref"
	case change == Remove && !r.delete:
		return "this sandbox may not delete refs"
	}
	return ""
}

func (r *PushRules) refuseTag(change Change) string {
	switch {
	case !r.tags:
		return "this sandbox may not push tags"
	case change == Remove && !r.delete:
		return "this sandbox may not delete refs"
	case change == Move && !r.force:
		return "this sandbox may not move tags"
	}
	return ""
}

// Force reports whether a ref may be moved to what isn't built on it.
func (r *PushRules) Force() bool { return r.force }

// MaxPack is the longest pack in bytes; 0 means any.
func (r *PushRules) MaxPack() int64 { return r.maxPack }

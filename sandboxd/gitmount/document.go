package gitmount

import (
	"fmt"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/sandboxd/authorship"
)

const (
	// MaxMounts is how many mounts a session may have.
	MaxMounts = 50
	// MaxDepth is the largest depth; a whole history is depth 0.
	MaxDepth = 1_000_000

	kind         = "git"
	defaultDepth = 1
)

// Document is the wire form of one mount (ledger GB-16). Kind, Repository and
// MountPath are required.
type Document struct {
	Kind string `json:"kind"` // "git"
	// Repository is owner/name, which means github.com, or an https URL.
	Repository string `json:"repository"`
	// Ref is a branch, a tag, a full ref or a whole commit id, and may have
	// {{payload.a.b}} in it. Empty means the repository's default branch.
	Ref string `json:"ref,omitempty"`
	// Depth is how many commits of history to fetch: nil means 1, 0 all.
	Depth     *int   `json:"depth,omitempty"`
	MountPath string `json:"mountPath"` // absolute
	// Auth says whose credential git gets; nil means none, for a repository
	// that anybody may read.
	Auth *Auth `json:"auth,omitempty"`
	// CommitAuthor is who commits there; nil leaves it to the agent.
	CommitAuthor *authorship.Person `json:"commitAuthor,omitempty"`
	Submodules   bool               `json:"submodules,omitempty"`
	LFS          bool               `json:"lfs,omitempty"`
}

// Auth names the issuer that mints for a mount, and what for. The rest of the
// grant is the project's ([Authorise]). Issuer is required.
type Auth struct {
	Issuer string        `json:"issuer"`
	Access broker.Access `json:"access,omitempty"` // empty means read
}

// Mount is a checked Document. Only [Compile] makes one.
type Mount struct {
	Path       string
	Host       policy.Host
	Repository broker.Repository
	Ref        string // resolved; "HEAD" is the default branch
	Depth      int    // 0 is all
	Auth       *Auth  // nil: no credential
	Author     *authorship.Person
	Submodules bool
	LFS        bool

	spelt string // owner/name as it was written: not every forge folds case
}

// URL returns where the mount is fetched from.
func (m Mount) URL() string { return "https://" + m.Host.String() + "/" + m.spelt + ".git" }

// Compile checks the mounts of a session and resolves their refs with its
// input, a decoded JSON value (ledger GB-16, GB-19, GB-20, GB-22). The error is
// a *[DocumentError].
func Compile(documents []Document, payload any) ([]Mount, error) {
	if len(documents) > MaxMounts {
		return nil, &DocumentError{CodeInvalid, "git_mounts", fmt.Sprintf("expected at most %d mounts", MaxMounts)}
	}
	var mounts []Mount
	for i, d := range documents {
		m, err := d.compile(payload)
		if err == nil {
			err = apart(mounts, m)
		}
		if err != nil {
			err.Path = fmt.Sprintf("git_mounts[%d].%s", i, err.Path)
			return nil, err
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// compile checks one mount; the path of its error is that of a field.
func (d Document) compile(payload any) (Mount, *DocumentError) {
	invalid := func(field, format string, args ...any) (Mount, *DocumentError) {
		return Mount{}, &DocumentError{CodeInvalid, field, fmt.Sprintf(format, args...)}
	}
	if d.Kind != kind {
		return invalid("kind", "expected %q", kind)
	}
	m := Mount{Path: d.MountPath, Depth: defaultDepth, Author: d.CommitAuthor, Submodules: d.Submodules, LFS: d.LFS}
	var err error
	if m.Host, m.Repository, m.spelt, err = parseRepository(d.Repository); err != nil {
		return invalid("repository", "%s", err)
	}
	ref, unresolved := resolveRef(d.Ref, payload)
	if unresolved != nil {
		return Mount{}, unresolved
	}
	if err := checkRef(ref); err != nil {
		return invalid("ref", "%s", err)
	}
	m.Ref = ref
	if d.Depth != nil {
		if m.Depth = *d.Depth; m.Depth < 0 || m.Depth > MaxDepth {
			return invalid("depth", "expected 0, for the whole history, to %d", MaxDepth)
		}
	}
	if err := checkPath(d.MountPath); err != nil {
		return invalid("mountPath", "%s", err)
	}
	if d.CommitAuthor != nil {
		if err := d.CommitAuthor.Check(); err != nil {
			return invalid("commitAuthor", "%s", err)
		}
	}
	if d.Auth != nil {
		auth := *d.Auth
		m.Auth = &auth
		if _, err := m.granted(); err != nil {
			return invalid("auth", "%s", err)
		}
	}
	return m, nil
}

package gitmount

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/policy"
)

// Authorise returns the grants that the boundary of a session with these mounts
// is to hold: for each repository the project's own grant, which says what may
// be pushed and whether a token enters the sandbox, with no more access than
// the mounts ask for (ledger GB-23). Two mounts of one repository share the
// wider access; a mount without credential needs nothing.
//
// The error is an *[Error] of [CodeNotGranted] that names the first mount that
// may not be staged, or says that the project's grants are broken.
func Authorise(mounts []Mount, project []broker.Grant) ([]broker.Grant, error) {
	held, err := newProject(project)
	if err != nil {
		return nil, fmt.Errorf("authorise mounts: %w", err)
	}
	var grants []broker.Grant
	at := map[place]int{}
	for _, m := range mounts {
		if m.Auth == nil {
			continue
		}
		grant, err := held.narrow(m)
		if err != nil {
			return nil, err
		}
		where := place{m.Host, m.Repository}
		if i, found := at[where]; !found {
			at[where] = len(grants)
			grants = append(grants, grant)
		} else if grant.Access == broker.Write {
			grants[i] = grant
		}
	}
	return grants, nil
}

// place is where a repository is.
type place struct {
	host       policy.Host
	repository broker.Repository
}

// project are the grants that a project has, by place.
type project map[place]broker.Grant

func newProject(grants []broker.Grant) (project, error) {
	compiled, err := broker.Compile(grants)
	if err != nil {
		return nil, err
	}
	held := project{}
	for i, g := range compiled.All() {
		held[place{g.Host, g.Repository}] = grants[i]
	}
	return held, nil
}

// narrow returns the project's grant for a mount.
func (p project) narrow(m Mount) (broker.Grant, error) {
	fail := func(message string) (broker.Grant, error) {
		return broker.Grant{}, m.fail(CodeNotGranted, StepAuthorise, message, "")
	}
	grant, found := p[place{m.Host, m.Repository}]
	switch {
	case !found:
		return fail("The project isn't granted this repository. Ask whoever runs the project to add a grant.")
	case grant.Issuer != m.Auth.Issuer:
		return fail("The project is granted this repository through another issuer. Name that one in the mount's auth.")
	case m.Auth.Access == broker.Write && grant.Access != broker.Write:
		return fail("The project is granted this repository to read, and the mount asks to write. Ask for read, or for a wider grant.")
	case m.Auth.Access != broker.Write:
		grant.Access, grant.Push = broker.Read, nil
	}
	return grant, nil
}

// granted returns what a mount asks for as a grant, checked.
func (m Mount) granted() ([]broker.Granted, error) {
	grants, err := broker.Compile([]broker.Grant{{
		Repository: m.Repository.String(), Host: m.Host.String(), Access: m.Auth.Access, Issuer: m.Auth.Issuer,
	}})
	if err != nil {
		return nil, bare(err)
	}
	return slices.Clone(grants.All()), nil
}

// bare takes the place in a list that no user wrote off a grant's error.
func bare(err error) error {
	var e *broker.GrantError
	if errors.As(err, &e) {
		return errors.New(e.Msg)
	}
	return err
}

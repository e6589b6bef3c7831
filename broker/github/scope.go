package github

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-github/v84/github"

	"github.com/sallyport/sallyport/broker"
)

// permissions returns what a token for the access asks for, all of it by name.
func permissions(access broker.Access, extra []string) *github.InstallationPermissions {
	p := &github.InstallationPermissions{Metadata: github.Ptr("read"), Contents: github.Ptr("read")}
	if access != broker.Write {
		return p
	}
	p.Contents = github.Ptr("write")
	for _, name := range extra {
		_ = set(p, name) // New has checked the names
	}
	return p
}

// set adds one of the extra permissions.
func set(p *github.InstallationPermissions, name string) error {
	switch name {
	case "pull_requests":
		p.PullRequests = github.Ptr("write")
	case "workflows":
		p.Workflows = github.Ptr("write")
	default:
		return errors.New("unknown permission")
	}
	return nil
}

// verify compares the scope of a token with what was asked for, and returns
// the repository's current name. More than was asked for is as wrong as less.
func verify(token *github.InstallationToken, asked broker.Repository, id int64, p *github.InstallationPermissions) (broker.Repository, error) {
	if token.GetToken() == "" || token.GetExpiresAt().IsZero() {
		return broker.Repository{}, errors.New("GitHub's answer has no token or no expiry")
	}
	if len(token.Repositories) != 1 {
		return broker.Repository{}, fmt.Errorf("GitHub minted a token for %d repositories in place of one", len(token.Repositories))
	}
	got := token.Repositories[0]
	name, err := broker.CanonicalRepository(got.GetFullName())
	switch {
	case err != nil:
		return broker.Repository{}, errors.New("GitHub minted a token for a repository without a name")
	case id != 0 && got.GetID() != id, id == 0 && name != asked:
		return broker.Repository{}, fmt.Errorf("GitHub minted a token for %s in place of %s", name, asked)
	}
	want, have := values(p), values(token.Permissions)
	if _, listed := have["metadata"]; !listed {
		delete(want, "metadata") // every token has it, listed or not
	}
	if !maps.Equal(want, have) {
		return broker.Repository{}, fmt.Errorf("GitHub minted a token with permissions %s in place of %s", describe(token.Permissions), describe(p))
	}
	return name, nil
}

// values returns permissions by name, whatever names there are.
func values(p *github.InstallationPermissions) map[string]string {
	data, err := json.Marshal(p)
	all := map[string]string{}
	if err != nil || json.Unmarshal(data, &all) != nil {
		return nil // equals nothing that is asked for
	}
	return all
}

func describe(p *github.InstallationPermissions) string {
	all := values(p)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, name+":"+all[name])
	}
	return strings.Join(list, ",")
}

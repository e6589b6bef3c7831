package gitmount

import (
	"errors"
	"net/url"
	"strings"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/policy"
)

// parseRepository reads owner/name, or an https URL without credentials, port,
// query or fragment, in which the owner may be several groups. Spelt is
// owner/name in the letters that were written.
func parseRepository(text string) (host policy.Host, repository broker.Repository, spelt string, err error) {
	fail := func(msg string) (policy.Host, broker.Repository, string, error) {
		return policy.Host{}, broker.Repository{}, "", errors.New(msg)
	}
	name, path := broker.DefaultHost, text
	if strings.Contains(text, ":") {
		u, err := url.Parse(text)
		switch {
		case err != nil:
			return fail("expected owner/name or an https URL")
		case u.Scheme != "https" || u.Opaque != "":
			return fail("expected an https URL: no other protocol leaves a sandbox")
		case u.User != nil:
			return fail("expected a URL without a user or password: credentials are the issuer's")
		case u.Port() != "" && u.Port() != "443":
			return fail("expected a URL without a port")
		case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(text, "#") || u.RawPath != "":
			return fail("expected a URL of host and owner/name alone")
		}
		name, path = u.Hostname(), strings.TrimPrefix(u.Path, "/")
	}
	if host, err = policy.CanonicalHost(name); err != nil {
		return fail("the URL's host isn't one")
	}
	if host.IP().IsValid() {
		return fail("expected the name of a host: no address has a credential")
	}
	spelt = strings.TrimSuffix(path, ".git")
	if repository, err = broker.CanonicalRepository(spelt); err != nil {
		return fail(err.Error())
	}
	switch {
	case !strings.EqualFold(spelt, repository.String()):
		return fail("expected a repository, found something inside one")
	case host.String() == broker.DefaultHost && strings.Contains(repository.Owner(), "/"):
		return fail("expected owner/name")
	}
	return host, repository, spelt, nil
}

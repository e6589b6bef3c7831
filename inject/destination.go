package inject

import (
	"strings"

	"github.com/sallyport/sallyport/policy"
)

// exactHost refuses globs and IP literals, which never carry a secret
// (decision 3).
func exactHost(s string) (policy.Host, *BindingError) {
	if strings.ContainsAny(s, "*?[]{}!") || strings.HasPrefix(s, ".") {
		return policy.Host{}, &BindingError{"host", "a secret is bound to exactly one host: no globs and no addresses"}
	}
	host, err := policy.CanonicalHost(s)
	switch {
	case err != nil:
		return policy.Host{}, &BindingError{"host", err.Error()}
	case host.IP().IsValid():
		return policy.Host{}, &BindingError{"host", "an IP address never carries a secret: bind a host name"}
	}
	return host, nil
}

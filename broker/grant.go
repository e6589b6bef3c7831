package broker

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/sallyport/sallyport/policy"
)

// DefaultHost is the host of a grant that names none.
const DefaultHost = "github.com"

// MaxGrants is how many grants a boundary may have.
const MaxGrants = 200

// Access is what a credential may do with its repository.
type Access string

const (
	Read  Access = "read"  // fetch; what an absent access means
	Write Access = "write" // fetch and push
)

// Grant is the wire and configuration form of one granted repository.
// Repository and Issuer are required.
type Grant struct {
	Repository string `json:"repository"`     // owner/name
	Host       string `json:"host,omitempty"` // empty means DefaultHost
	Access     Access `json:"access,omitempty"`
	Issuer     string `json:"issuer"` // as the edge's configuration names it
}

// Granted is a checked Grant.
type Granted struct {
	Host       policy.Host
	Repository Repository
	Access     Access
	Issuer     string
}

// URL returns the repository's URL as git clones it.
func (g Granted) URL() string {
	return "https://" + g.Host.String() + "/" + g.Repository.String() + ".git"
}

// GrantError says what is wrong with a grant and where. Path is a JSON path
// such as "git[3].repository".
type GrantError struct {
	Path string
	Msg  string
}

func (e *GrantError) Error() string { return e.Path + ": " + e.Msg }

// Grants are the grants of one boundary: immutable, safe for concurrent use.
// nil has none.
type Grants struct {
	all   []Granted
	index map[place]int
	hosts map[policy.Host]bool
}

type place struct {
	host       policy.Host
	repository Repository
}

// issuerName is what an issuer may be called in a configuration.
var issuerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// ValidateIssuerName says whether name can name an issuer.
func ValidateIssuerName(name string) error {
	if !issuerName.MatchString(name) {
		return fmt.Errorf("%.40q: expected the name of an issuer: 1 to 63 of a-z, 0-9, '_' and '-'", name)
	}
	return nil
}

// Compile checks the grants of a boundary. The error is a *[GrantError].
func Compile(grants []Grant) (*Grants, error) {
	if len(grants) > MaxGrants {
		return nil, &GrantError{"git", fmt.Sprintf("more than %d grants", MaxGrants)}
	}
	g := &Grants{index: map[place]int{}, hosts: map[policy.Host]bool{}}
	for i, one := range grants {
		granted, key, err := one.check()
		if err != nil {
			return nil, &GrantError{fmt.Sprintf("git[%d].%s", i, key), err.Error()}
		}
		at := place{granted.Host, granted.Repository}
		if _, twice := g.index[at]; twice {
			return nil, &GrantError{fmt.Sprintf("git[%d].repository", i), granted.Repository.String() + " is granted twice"}
		}
		g.index[at] = len(g.all)
		g.hosts[granted.Host] = true
		g.all = append(g.all, granted)
	}
	return g, nil
}

// check returns the checked grant, or the key that is wrong.
func (g Grant) check() (_ Granted, key string, err error) {
	repository, err := CanonicalRepository(g.Repository)
	if err != nil {
		return Granted{}, "repository", err
	}
	if g.Host == "" {
		g.Host = DefaultHost
	}
	host, err := policy.CanonicalHost(g.Host)
	if err != nil {
		return Granted{}, "host", err
	}
	if host.IP().IsValid() {
		return Granted{}, "host", fmt.Errorf("expected a name: no address carries a secret")
	}
	switch g.Access {
	case "":
		g.Access = Read
	case Read, Write:
	default:
		return Granted{}, "access", fmt.Errorf("expected %q or %q", Read, Write)
	}
	if err := ValidateIssuerName(g.Issuer); err != nil {
		return Granted{}, "issuer", err
	}
	return Granted{host, repository, g.Access, g.Issuer}, "", nil
}

// All returns the grants in the order of the boundary. The caller must not
// change them.
func (g *Grants) All() []Granted {
	if g == nil {
		return nil
	}
	return g.all
}

// Find returns the grant for a repository of a host.
func (g *Grants) Find(host policy.Host, repository Repository) (Granted, bool) {
	if g == nil {
		return Granted{}, false
	}
	i, found := g.index[place{host, repository}]
	if !found {
		return Granted{}, false
	}
	return g.all[i], true
}

// Brokers reports whether any repository of the host is granted: what else is
// asked for there is refused rather than left to others.
func (g *Grants) Brokers(host policy.Host) bool { return g != nil && g.hosts[host] }

// has reports whether exactly this grant is still there.
func (g *Grants) has(one Granted) bool {
	now, found := g.Find(one.Host, one.Repository)
	return found && now == one
}

// requestHost reads the host of a request, which git passes on as the URL has it. A
// port is never brokered: a grant is for the forge's HTTPS port.
func requestHost(s string) (policy.Host, bool) {
	if strings.ContainsAny(s, ":[]") {
		return policy.Host{}, false
	}
	h, err := policy.CanonicalHost(s)
	return h, err == nil
}

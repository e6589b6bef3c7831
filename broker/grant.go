package broker

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
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

// Auth is what the sandbox gets to hold of a credential.
type Auth string

const (
	// AuthToken hands git a short-lived token that can read; what an absent
	// auth means. To push, the edge puts one that can write in its place.
	AuthToken Auth = "token"
	// AuthEdge hands git a placeholder, for which the edge puts the token: none
	// enters the sandbox (ledger GB-13).
	AuthEdge Auth = "edge"
)

// Grant is the wire and configuration form of one granted repository.
// Repository and Issuer are required.
type Grant struct {
	Repository string `json:"repository"`     // owner/name; a forge with groups may have more owners
	Host       string `json:"host,omitempty"` // empty means DefaultHost
	Access     Access `json:"access,omitempty"`
	Issuer     string `json:"issuer"` // as the edge's configuration names it
	GitAuth    Auth   `json:"git_auth,omitempty"`
	// TokenEnv is the variable that holds the placeholder of git_auth "edge",
	// which the forge's REST API takes too; empty means GH_TOKEN for github.com
	// and GIT_TOKEN for other hosts.
	TokenEnv string `json:"token_env,omitempty"`
	// Push limits what may be pushed; nil leaves that to the forge.
	Push *Push `json:"push,omitempty"`
}

// Granted is a checked Grant. It is comparable: two that are equal stand for the
// same credentials.
type Granted struct {
	Host       policy.Host
	Repository Repository
	Access     Access
	Issuer     string
	Auth       Auth
	TokenEnv   string // empty unless Auth is AuthEdge
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
	rules []*PushRules // beside all; nil for none
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
		granted, rules, key, err := one.check()
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
		g.rules = append(g.rules, rules)
	}
	return g, nil
}

// check returns the checked grant, or the key that is wrong.
func (g Grant) check() (_ Granted, rules *PushRules, key string, err error) {
	fail := func(key string, err error) (Granted, *PushRules, string, error) { return Granted{}, nil, key, err }
	repository, err := CanonicalRepository(g.Repository)
	if err != nil {
		return fail("repository", err)
	}
	host, err := policy.CanonicalHost(cmp.Or(g.Host, DefaultHost))
	switch {
	case err != nil:
		return fail("host", err)
	case host.IP().IsValid():
		return fail("host", errors.New("expected a name: no address carries a secret"))
	case host.String() == DefaultHost && strings.Contains(repository.Owner(), "/"):
		return fail("repository", errors.New("expected owner/repository"))
	}
	switch g.Access {
	case "":
		g.Access = Read
	case Read, Write:
	default:
		return fail("access", fmt.Errorf("expected %q or %q", Read, Write))
	}
	if err := ValidateIssuerName(g.Issuer); err != nil {
		return fail("issuer", err)
	}
	if key, err := g.checkAuth(host); err != nil {
		return fail(key, err)
	}
	if g.Push != nil {
		if g.Access != Write {
			return fail("push", fmt.Errorf("expected access %q beside it", Write))
		}
		if rules, err = g.Push.compile(); err != nil {
			return fail("push", err)
		}
	}
	return Granted{host, repository, g.Access, g.Issuer, g.GitAuth, g.TokenEnv}, rules, "", nil
}

// variable is what a variable of the environment is called.
var variable = regexp.MustCompile(`^[A-Z_][A-Z0-9_]{0,63}$`)

// checkAuth checks what the sandbox gets to hold, and fills in what is left
// out. It returns the key that is wrong.
func (g *Grant) checkAuth(host policy.Host) (key string, err error) {
	switch g.GitAuth {
	case "", AuthToken:
		g.GitAuth = AuthToken
		if g.TokenEnv != "" {
			return "token_env", fmt.Errorf("expected git_auth %q beside it", AuthEdge)
		}
		return "", nil
	case AuthEdge:
	default:
		return "git_auth", fmt.Errorf("expected %q or %q", AuthToken, AuthEdge)
	}
	if g.TokenEnv == "" {
		g.TokenEnv = "GIT_TOKEN"
		if host.String() == DefaultHost {
			g.TokenEnv = "GH_TOKEN"
		}
	}
	if !variable.MatchString(g.TokenEnv) {
		return "token_env", errors.New("expected the name of a variable, such as GH_TOKEN")
	}
	return "", nil
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

// PushRules returns what may be pushed to a granted repository; nil for what
// the forge itself allows.
func (g *Grants) PushRules(one Granted) *PushRules {
	if !g.has(one) {
		return nil
	}
	return g.rules[g.index[place{one.Host, one.Repository}]]
}

// Placeholders returns the variables that hold the placeholders of AuthEdge,
// each once.
func (g *Grants) Placeholders() []string {
	var all []string
	for _, one := range g.All() {
		if one.Auth == AuthEdge && !slices.Contains(all, one.TokenEnv) {
			all = append(all, one.TokenEnv)
		}
	}
	return all
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

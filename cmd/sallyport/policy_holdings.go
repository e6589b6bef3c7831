package main

import (
	"encoding/json"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"

	"github.com/sallyport/sallyport/edge/strict"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/diff"
)

// holdings is a file of what sandboxes hold beside a policy.
type holdings struct {
	Bindings json.RawMessage `json:"bindings"`
	Git      []gitGrant      `json:"git"`
}

type gitGrant struct {
	Repository string `json:"repository"`
	Access     string `json:"access"`
	Issuer     string `json:"issuer"`
	Host       string `json:"host"` // default: that of the issuer
}

// issuerHosts are the git hosts of the issuers that have one.
var issuerHosts = map[string]string{"github": "github.com"}

// readHoldings reads bindings and grants from a file with the keys "bindings"
// and "git", or from the boundaries of an edge's configuration.
func readHoldings(file string) (diff.Holdings, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return diff.Holdings{}, fmt.Errorf("read bindings: %w", err)
	}
	var held diff.Holdings
	parts, err := splitHoldings(data)
	for _, part := range parts {
		if err == nil {
			err = part.addTo(&held)
		}
	}
	if err != nil {
		return diff.Holdings{}, fmt.Errorf("%s: %w", file, err)
	}
	return held, nil
}

func splitHoldings(data []byte) ([]holdings, error) {
	var edge struct {
		Boundaries []holdings `json:"boundaries"`
	}
	// The rest of an edge's configuration is for the edge to check.
	if err := yaml.Unmarshal(data, &edge); err == nil && edge.Boundaries != nil {
		return edge.Boundaries, nil
	}
	var one holdings
	err := strict.YAML(data, &one)
	return []holdings{one}, err
}

func (h holdings) addTo(held *diff.Holdings) error {
	var bindings []inject.Binding
	if h.Bindings != nil {
		var err error
		if bindings, err = inject.ParseBindings(h.Bindings); err != nil {
			return err
		}
	}
	for i, b := range bindings {
		host, err := policy.CanonicalHost(b.Host)
		if err != nil {
			return fmt.Errorf("bindings[%d].host: %w", i, err)
		}
		port := b.Port
		if port == 0 {
			port = 443
		}
		held.Bindings = append(held.Bindings, diff.Binding{Name: b.Env, Host: host, Port: port})
	}
	for i, g := range h.Git {
		grant, err := g.grant()
		if err != nil {
			return fmt.Errorf("git[%d].%w", i, err)
		}
		held.Grants = append(held.Grants, grant)
	}
	return nil
}

func (g gitGrant) grant() (diff.Grant, error) {
	if g.Repository == "" {
		return diff.Grant{}, fmt.Errorf("repository: missing")
	}
	if g.Access != "read" && g.Access != "write" {
		return diff.Grant{}, fmt.Errorf("access: expected read or write, found %q", g.Access)
	}
	name := g.Host
	if name == "" {
		name = issuerHosts[g.Issuer]
	}
	host, err := policy.CanonicalHost(name)
	if err != nil {
		return diff.Grant{}, fmt.Errorf("host: %w", err)
	}
	return diff.Grant{Repository: g.Repository, Host: host, Write: g.Access == "write"}, nil
}

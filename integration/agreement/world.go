package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/integration/agreement/suite"
)

// Files of a directory that -init has made.
const (
	originCA   = "origin-ca.pem" // trusted by the proxy, upstream
	hostsFile  = "hosts"         // what the names resolve to
	secretFile = "secret"        // bound to suite.Bound
	tokenFile  = "token"         // credentials of the boundary in edge.yaml
	edgeFile   = "edge.yaml"     // all of it for our own edge
	baseFile   = "base"
	stateDir   = "origin-state"
	boundaryID = "agreement"
)

// world is what the suite and the proxy have to agree on beforehand.
type world struct {
	dir    string
	base   netip.Addr
	secret string
}

// prepare makes a directory with a new world in it.
func prepare(dir string, base netip.Addr) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, stateDir), 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	authority, err := certs.Open(filepath.Join(dir, stateDir))
	if err != nil {
		return err
	}
	secret := "agreement-secret-" + rand.Text()
	edge, err := edgeConfig(dir, base)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		originCA:   string(authority.CertificatePEM()),
		hostsFile:  hosts(base),
		secretFile: secret,
		tokenFile:  rand.Text(),
		baseFile:   base.String(),
		edgeFile:   edge,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write directory: %w", err)
		}
	}
	return nil
}

func hosts(base netip.Addr) string {
	var b strings.Builder
	for _, host := range []string{suite.Bound, suite.Allowed, suite.Denied} {
		fmt.Fprintf(&b, "%s %s\n", suite.Address(base, host), host)
	}
	return b.String()
}

// resolve pins every host, the literal included, at every port: only the
// policy is in the way.
func resolve(base netip.Addr) map[string]string {
	pins := map[string]string{}
	for _, host := range []string{suite.Bound, suite.Allowed, suite.Denied, ""} {
		addr := suite.Address(base, host)
		if host == "" {
			host = addr.String()
		}
		for _, port := range []uint16{443, 80, 8443} {
			pins[host+":"+strconv.Itoa(int(port))] = netip.AddrPortFrom(addr, port).String()
		}
	}
	return pins
}

const (
	rules = `{"version":"v1","rules":[
		{"match":{"host_glob":"` + suite.Bound + `"},"action":{"type":"allow"}},
		{"match":{"host_glob":"` + suite.Allowed + `"},"action":{"type":"allow"}}]}`
	bindings = `[{"env":"AGREEMENT_TOKEN","host":"` + suite.Bound + `","secret":"file:` + secretFile + `"}]`
)

func edgeConfig(dir string, base netip.Addr) (string, error) {
	d := config.Document{
		State:    filepath.Join(dir, "edge-state"),
		Listen:   config.DocumentListen{Proxy: "127.0.0.1:0", Control: "control"},
		Upstream: config.DocumentUpstream{Resolve: resolve(base), ExtraRoots: []string{originCA}},
		Boundaries: []config.DocumentBoundary{{
			ID: boundaryID, TokenFile: tokenFile,
			NetworkPolicy: json.RawMessage(rules), Bindings: json.RawMessage(bindings),
		}},
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return "", fmt.Errorf("write configuration: %w", err)
	}
	return string(text) + "\n", nil
}

// load reads what prepare wrote.
func load(dir string) (world, error) {
	w := world{dir: dir}
	base, err := os.ReadFile(filepath.Join(dir, baseFile))
	if err != nil {
		return w, fmt.Errorf("%w: run with -init %s first", err, dir)
	}
	if w.base, err = netip.ParseAddr(string(base)); err != nil {
		return w, fmt.Errorf("read base: %w", err)
	}
	secret, err := os.ReadFile(filepath.Join(dir, secretFile))
	if err != nil {
		return w, fmt.Errorf("read secret: %w", err)
	}
	w.secret = string(secret)
	return w, nil
}

func (w world) literal() string { return suite.Address(w.base, "").String() }

// listen starts the origins.
func (w world) listen() (*suite.Origins, error) {
	authority, err := certs.Open(filepath.Join(w.dir, stateDir))
	if err != nil {
		return nil, err
	}
	return suite.Listen(w.base, authority, w.secret)
}

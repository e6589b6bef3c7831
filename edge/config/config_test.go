package config_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/edge/guard"
	"github.com/sallyport/sallyport/policy"
)

// directory returns a directory with the given files in it, by name.
func directory(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const full = `
state: state
audit: audit.log
user: 1234:5678
listen:
  proxy: 127.0.0.1:3128
  control: run/control
upstream:
  allow_cidrs: [10.0.0.0/8, "fd00::/8"]
  resolve: {"Name.test:443": "127.0.0.1:8443"}
  denied_ports: [25, 22]
  opaque_connect: false
timeouts: {dial: 3s}
boundaries:
  - id: ci
    token_file: token
    network_policy:
      version: v1
      rules:
        - {match: {host_glob: api.example.com}, action: {type: allow}}
    bindings:
      - {env: API_TOKEN, host: api.example.com, secret: "file:secret"}
    labels: {team: a}
`

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := directory(t, map[string]string{"edge.yaml": full, "token": "0123456789abcdef\n"})
	c, err := config.Load(filepath.Join(dir, "edge.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if c.State != filepath.Join(dir, "state") || c.Audit != filepath.Join(dir, "audit.log") {
		t.Errorf("paths: state %s, audit %s", c.State, c.Audit)
	}
	if c.Listen != (config.Listen{Proxy: "127.0.0.1:3128", Control: filepath.Join(dir, "run/control")}) {
		t.Errorf("listen: %+v", c.Listen)
	}
	if c.User == nil || *c.User != (config.User{UID: 1234, GID: 5678}) {
		t.Errorf("user: %+v", c.User)
	}
	host, err := policy.CanonicalHost("name.test")
	if err != nil {
		t.Fatal(err)
	}
	wantUpstream := config.Upstream{
		AllowCIDRs:  []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")},
		Resolve:     map[guard.HostPort]netip.AddrPort{{Host: host, Port: 443}: netip.MustParseAddrPort("127.0.0.1:8443")},
		DeniedPorts: []uint16{25, 22},
	}
	if !reflect.DeepEqual(c.Upstream, wantUpstream) {
		t.Errorf("upstream: %+v", c.Upstream)
	}
	if c.Timeouts != (config.Timeouts{Dial: 3 * time.Second}) {
		t.Errorf("timeouts: %+v", c.Timeouts)
	}
	if len(c.Boundaries) != 1 {
		t.Fatalf("boundaries: %+v", c.Boundaries)
	}
	b := c.Boundaries[0]
	if b.ID != "ci" || b.TokenSHA256 != boundary.TokenDigest([]byte("0123456789abcdef")) || b.Labels["team"] != "a" {
		t.Errorf("boundary: %+v", b)
	}
	if len(b.NetworkPolicy.Rules) != 1 || b.NetworkPolicy.Rules[0].HostGlob != "api.example.com" {
		t.Errorf("policy: %+v", b.NetworkPolicy)
	}
	if want := "file:" + filepath.Join(dir, "secret"); b.Bindings[0].Secret != want {
		t.Errorf("secret: %s, want %s", b.Bindings[0].Secret, want)
	}
}

// The example in the documentation is one that loads.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```yaml\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("no example")
	}
	dir := directory(t, map[string]string{"edge.yaml": example, "ci.token": "0123456789abcdef", "proxy.credentials": "edge:password\n", "ca.pem": certificate(t)})
	c, err := config.Load(filepath.Join(dir, "edge.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Boundaries) != 1 || len(c.Upstream.ExtraRoots) != 1 || c.Timeouts.Idle != 15*time.Minute {
		t.Errorf("loaded %+v", c)
	}
}

func certificate(t *testing.T) string {
	t.Helper()
	authority, err := certs.New()
	if err != nil {
		t.Fatal(err)
	}
	return string(authority.CertificatePEM())
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	dir := directory(t, map[string]string{"edge.yaml": "state: /s\nlisten: {control: /c}\nboundaries: [{id: a}]"})
	c, err := config.Load(filepath.Join(dir, "edge.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Audit != "/s/audit.jsonl" {
		t.Errorf("audit: %s", c.Audit)
	}
	if u := c.Upstream; !u.OpaqueConnect || !slices.Equal(u.DeniedPorts, []uint16{25}) {
		t.Errorf("upstream: %+v", u)
	}
	// Case: B20: nothing said means that nothing is allowed.
	if p := c.Boundaries[0].NetworkPolicy; p.Unrestricted || len(p.Rules) != 0 {
		t.Errorf("a boundary without a policy has %+v", p)
	}
}

// Case: B19, B20.
func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	const ok = "state: s\nlisten: {control: c}\n"
	cases := []struct{ name, in, want string }{
		{"empty file", "", "state: expected a directory"},
		{"no listener", "state: s", "listen: expected proxy, control or both"},
		{"unknown key", ok + "stat: x", "stat: unknown key"},
		{"unknown nested key", "state: s\nlisten: {prxy: a}", "listen.prxy: unknown key"},
		{"key of a later version", ok + "boundaries: [{id: a, mcp: []}]", "boundaries[0].mcp: unknown key"},
		{"grant without an issuer", ok + "boundaries: [{id: a, git: [{repository: octo/app, issuer: nobody}]}]", "boundaries[0].git[0].issuer: no issuer is called"},
		{"grant of an account", ok + "issuers: {g: {kind: github}}\nboundaries: [{id: a, git: [{repository: octo, issuer: g}]}]", "boundaries[0].git[0].repository: expected owner/repository"},
		{"key of an issuer", ok + "issuers: {g: {kind: github, app: x}}", "issuers.g.app: unknown key"},
		{"name of an issuer", ok + "issuers: {G!: {kind: github}}", "issuers: "},
		{"secret that isn't a reference", ok + "issuers: {g: {kind: github, private_key: c4nary}}", "issuers.g.private_key: parse secret reference"},
		{"two tokens for one", ok + "issuers: {g: {kind: static, tokens: [{repository: a/b, secret: 'env:A'}, {repository: A/b.git, secret: 'env:B'}]}}", "issuers.g.tokens[1]: a second token"},
		{"wrong type", "state: [s]", "state: expected a string, found array"},
		{"every interface", "state: s\nlisten: {proxy: ':3128'}", "listen.proxy: expected HOST:PORT"},
		{"bad port", "state: s\nlisten: {proxy: 'a:99999'}", "listen.proxy: expected a port"},
		{"path too long for a socket", "state: s\nlisten: {control: " + strings.Repeat("x", 200) + "}", "listen.control: expected a path of at most 107 bytes"},
		{"bad network", ok + "upstream: {allow_cidrs: [10.0.0.0/8, 10.1.0.0]}", "upstream.allow_cidrs[1]: expected a network"},
		{"network with host bits", ok + "upstream: {allow_cidrs: [10.0.0.1/8]}", "upstream.allow_cidrs[0]: expected a network"},
		{"pin without a port", ok + `upstream: {resolve: {name.test: "127.0.0.1:1"}}`, `upstream.resolve."name.test": expected a key`},
		{"pin to a name", ok + `upstream: {resolve: {"a.test:443": "b.test:443"}}`, `upstream.resolve."a.test:443": expected an address and port`},
		{"pin to metadata", ok + `upstream: {resolve: {"a.test:80": "169.254.169.254:80"}}`, `upstream.resolve."a.test:80": the metadata service`},
		{"pinned twice", ok + `upstream: {resolve: {"a.test:443": "127.0.0.1:1", "A.test.:443": "127.0.0.1:2"}}`, "pinned twice"},
		{"missing roots", ok + "upstream: {extra_roots: [nowhere.pem]}", "upstream.extra_roots[0]: open "},
		{"roots that aren't", ok + "upstream: {extra_roots: [edge.yaml]}", "upstream.extra_roots[0]: expected PEM certificates"},
		{"port out of range", ok + "upstream: {denied_ports: [65536]}", "upstream.denied_ports: expected a number"},
		{"vault without an address", ok + "sources: {vault: {auth: {method: cert}}}", "sources.vault.address: expected a URL"},
		{"vault with a token in the file", ok + "sources: {vault: {address: 'https://v.test', auth: {method: token, token: x}}}", "sources.vault.auth.token: unknown key"},
		{"vault without a method", ok + "sources: {vault: {address: 'https://v.test'}}", "sources.vault.auth.method: expected token, approle"},
		{"vault without what the method needs", ok + "sources: {vault: {address: 'https://v.test', auth: {method: approle, role_id: a}}}", "sources.vault.auth.secret_id_file: expected by method approle"},
		{"vault with another method's key", ok + "sources: {vault: {address: 'https://v.test', auth: {method: token, token_file: f, role: r}}}", "sources.vault.auth.role: not a key of method token"},
		{"vault with half a certificate", ok + "sources: {vault: {address: 'https://v.test', cert_file: f, auth: {method: cert}}}", "sources.vault.key_file: expected"},
		{"vault by certificate without one", ok + "sources: {vault: {address: 'https://v.test', auth: {method: cert}}}", "sources.vault.cert_file: expected a file"},
		{"vault with missing roots", ok + "sources: {vault: {address: 'https://v.test', ca_file: nowhere.pem, auth: {method: jwt, role: r, jwt_file: f}}}", "sources.vault.ca_file: open "},
		{"vault with a bare redirect host", ok + "sources: {vault: {address: 'https://v.test', redirect_hosts: [v2.test], auth: {method: token, token_file: f}}}", "sources.vault.redirect_hosts[0]: expected HOST:PORT"},
		{"another source", ok + "sources: {volt: {}}", "sources.volt: unknown key"},
		{"timeout without a unit", ok + "timeouts: {dial: 3}", "timeouts.dial: expected a string"},
		{"no time at all", ok + "timeouts: {dial: 0s}", "timeouts.dial: expected a duration"},
		{"root as user", ok + `user: "0:0"`, "user: expected another user than root"},
		{"unknown account", ok + "user: no-such-account", "user: look up account"},
		{"boundary without an id", ok + "boundaries: [{}]", "boundaries[0].id: "},
		{"same id twice", ok + "boundaries: [{id: a}, {id: a}]", "boundaries[1].id: a is used twice"},
		{"bad rule", ok + "boundaries: [{id: a, network_policy: {version: v1, rules: [{match: {host_glob: ''}, action: {type: allow}}]}}]", "boundaries[0].network_policy.rules[0].match.host_glob: "},
		{"bad binding", ok + "boundaries: [{id: a, bindings: [{env: A, host: h.test, secret: 'env:A', hedder: X}]}]", "boundaries[0].bindings[0].hedder: unknown key"},
		{"missing token file", ok + "boundaries: [{id: a, token_file: nowhere}]", "boundaries[0].token_file: open "},
		{"short token", ok + "boundaries: [{id: a, token_file: short}]", "boundaries[0].token_file: expected at least 16 bytes"},
		{"token of two lines", ok + "boundaries: [{id: a, token_file: lines}]", "boundaries[0].token_file: expected printable ASCII"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := directory(t, map[string]string{
				"edge.yaml": c.in,
				"short":     "0123456789abcde\n",
				"lines":     "0123456789abcdef\n0123456789abcdef\n",
			})
			path := filepath.Join(dir, "edge.yaml")
			got, err := config.Load(path)
			if err == nil {
				t.Fatalf("accepted as %+v", got)
			}
			if !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q, want %q after the name of the file", err, c.want)
			}
		})
	}
}

func TestErrorsNeverShowTheToken(t *testing.T) {
	t.Parallel()
	dir := directory(t, map[string]string{
		"edge.yaml": "state: s\nlisten: {control: c}\nboundaries: [{id: a, token_file: token}]",
		"token":     "0123456789abcdef ghi\n",
	})
	_, err := config.Load(filepath.Join(dir, "edge.yaml"))
	if err == nil || strings.Contains(err.Error(), "abcdef") {
		t.Errorf("error %v", err)
	}
}

func TestMissingFile(t *testing.T) {
	t.Parallel()
	_, err := config.Load(filepath.Join(t.TempDir(), "edge.yaml"))
	if err == nil || !strings.Contains(err.Error(), "edge.yaml") {
		t.Errorf("error %v", err)
	}
}

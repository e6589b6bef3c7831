package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/vault/api"

	"github.com/sallyport/sallyport/inject/vault/vaulttest"
)

// vaulted is an edge whose secrets are in a Vault, and the origin for them.
type vaulted struct {
	edge   *served
	vault  *vaulttest.Server
	root   *api.Client
	asked  *atomic.Int64 // requests that reached the origin
	client *http.Client
}

const vaultedConfiguration = `
state: state
listen: {proxy: "127.0.0.1:0", control: control}
upstream: {resolve: {"example.com:443": "ORIGIN"}, extra_roots: [origin.pem]}
sources:
  vault:
    address: VAULT
    ca_file: CA
    boundary_tokens: true
    auth: {method: token, token_file: vault-token}
boundaries:
  - id: ci
    token_file: token
    network_policy: {version: v1, rules: [{match: {host_glob: example.com}, action: {type: allow}}]}
    bindings:
      - {env: API, host: example.com, header: X-Api-Key, mode: set, secret: "vault:kv/app#key"}
      - {env: DB, host: example.com, header: X-Db, mode: set, secret: "vault:database/creds/app#password"}
`

func startVaulted(t *testing.T) *vaulted {
	t.Helper()
	v := &vaulted{vault: vaulttest.Start(t), asked: &atomic.Int64{}}
	v.root = v.vault.Client(t)
	for at, in := range map[string]*api.MountInput{
		"kv":       {Type: "kv", Options: map[string]string{"version": "2"}},
		"database": {Type: "database", Config: api.MountConfigInput{DefaultLeaseTTL: "1h", MaxLeaseTTL: "2h"}},
	} {
		if err := v.root.Sys().Mount(at, in); err != nil {
			t.Fatal(err)
		}
	}
	origin := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.asked.Add(1)
		if r.Header.Get("X-Api-Key") != "first" || r.Header.Get("X-Db") == "" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(origin.Close)
	v.edge = serveEdge(t, map[string]string{
		"edge.yaml": strings.NewReplacer("ORIGIN", origin.Listener.Addr().String(), "VAULT", v.vault.URL, "CA", v.vault.CAFile).Replace(vaultedConfiguration),
		"token":     token, "vault-token": v.vault.RootToken + "\n",
		"origin.pem": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: origin.Certificate().Raw})),
	})
	ca, err := v.edge.Trust(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ca))
	v.client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: v.edge.ready.Proxy, User: url.UserPassword("ci", token)}),
		TLSClientConfig: &tls.Config{RootCAs: roots}, //nolint:gosec // the defaults are what a client has
	}}
	t.Cleanup(v.client.CloseIdleConnections)
	return v
}

func (v *vaulted) get(t *testing.T) (int, string) {
	t.Helper()
	resp, err := v.client.Get("https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// A sealed Vault stops the requests that need it and nothing else; after that,
// all is as it was, without a restart.
//
// Ledger: SI-11, SI-22
// Case: C24
func TestVault(t *testing.T) {
	t.Parallel()
	v := startVaulted(t)
	if _, err := v.root.KVv2("kv").Put(t.Context(), "app", map[string]any{"key": "first"}); err != nil {
		t.Fatal(err)
	}
	v.vault.Seal(true)
	status, body := v.get(t)
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "secret_unavailable") || strings.Contains(body, v.vault.URL) {
		t.Errorf("sealed: %d %s", status, body)
	}
	if n := v.asked.Load(); n != 0 {
		t.Errorf("%d requests reached the origin without the secret", n)
	}
	v.vault.Seal(false)
	for deadline := time.Now().Add(20 * time.Second); status != http.StatusOK; status, body = v.get(t) {
		if time.Now().After(deadline) {
			t.Fatalf("unsealed: %d %s\n%s", status, body, v.edge.stderr)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if n := v.vault.Leases(); n != 1 {
		t.Errorf("%d leases for one boundary", n)
	}
	for _, e := range v.vault.Audit() {
		if strings.HasPrefix(e.Path, "kv/data/app") && e.Method == http.MethodGet && (e.Boundary != "ci" || e.Metadata["sallyport_boundary"] != "ci") {
			t.Errorf("the audit log doesn't show for whom: %+v", e)
		}
	}
	v.edge.write("edge.yaml", strings.Split(readFile(t, v.edge.dir+"/edge.yaml"), "boundaries:")[0])
	if err := v.edge.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); v.vault.Leases() > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the lease of a closed boundary is in force\n%s", v.edge.stderr)
		}
	}
	v.edge.stop()
	if log := v.edge.stderr.String(); strings.Contains(log, v.vault.RootToken) || strings.Contains(log, "first") {
		t.Errorf("log: %s", log)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

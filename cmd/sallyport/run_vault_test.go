package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/vault/api"

	"github.com/sallyport/sallyport/inject/vault/vaulttest"
)

// What a run was issued ends with it, and Vault knows which run it was.
//
// Ledger: SI-22
func TestRunVaultSecret(t *testing.T) {
	t.Parallel()
	v := vaulttest.Start(t)
	err := v.Client(t).Sys().Mount("database", &api.MountInput{
		Type: "database", Config: api.MountConfigInput{DefaultLeaseTTL: "1h", MaxLeaseTTL: "2h"},
	})
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"run", "--allow", "example.com", "--secret", "DB@example.com",
		"--secret-from", "DB=vault:database/creds/app#password"}, origin(t)...)
	args = append(args, "--", "sh", "-c", `curl -sS -H "Authorization: $DB" https://example.com/`)
	var stdout, stderr bytes.Buffer
	cmd := sallyport(t, shortDir(t), args...)
	cmd.Env = append(cmd.Env, "VAULT_ADDR="+v.URL, "VAULT_TOKEN="+v.RootToken, "VAULT_CACERT="+v.CAFile)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s%s", err, stdout.String(), stderr.String())
	}
	const passwordLength = 24 // of vaulttest
	if want := fmt.Sprint(passwordLength, " example.com"); stdout.String() != want {
		t.Errorf("the origin got %q, want %q", stdout.String(), want)
	}
	if v.Count("database/creds/app") != 1 || v.Leases() != 0 {
		t.Errorf("%d leases were issued, %d are in force after the run", v.Count("database/creds/app"), v.Leases())
	}
	for _, e := range v.Audit() {
		if strings.HasPrefix(e.Path, "database/") && e.Boundary == "" {
			t.Error("the audit log doesn't show the run")
		}
	}
}

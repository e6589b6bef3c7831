package variables_test

import (
	"testing"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/certs/variables"
	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/sandboxd/githelper"
)

// Ledger: ED-38
// Ledger: SI-20
func TestReservedInAnyCase(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"HTTPS_PROXY": true, "Https_Proxy": true, "No_Proxy": true, "ssl_cert_file": true,
		"NPM_CONFIG_CAFILE": true, "SALLYPORT_BROKER": true, "sallyport_x": true, "GIT_CONFIG_KEY_12": true, "GIT_CONFIG_COUNT": true,
		"PATH": false, "MY_PROXY": false, "": false, "SALLYPORT": false, "GIT_CONFIG_GLOBAL": false, "GIT_AUTHOR_NAME": false, "HOME": false} {
		if variables.Reserved(name) != want {
			t.Errorf("Reserved(%q) = %v", name, !want)
		}
	}
}

// Ledger: SI-20
func TestWhatConfiguresGitIsReserved(t *testing.T) {
	t.Parallel()
	host, err := policy.CanonicalHost("git.example.com")
	if err != nil {
		t.Fatal(err)
	}
	env := githelper.Env([]broker.Granted{{Host: host}}, nil)
	if len(env) == 0 {
		t.Fatal("the helper sets nothing")
	}
	for name := range env {
		if !variables.Reserved(name) {
			t.Errorf("%s is set in sandboxes and not reserved", name)
		}
	}
}

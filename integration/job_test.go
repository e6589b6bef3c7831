package integration_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/integration/harness"
)

const (
	apiHost   = "api.example.test"
	otherHost = "other.example.test"
	offHost   = "off.example.test" // never in a policy
	realToken = "s3cr3t-5d1f0c9a7be24683-only-the-origin-may-see-this"
)

// unproxied runs a command without the proxy variables, as a program that
// knows nothing of proxies would run.
var unproxied = []string{
	"env", "-u", "HTTPS_PROXY", "-u", "HTTP_PROXY", "-u", "ALL_PROXY", "-u", "NO_PROXY",
	"-u", "https_proxy", "-u", "http_proxy", "-u", "all_proxy", "-u", "no_proxy",
}

// ways are the two ways out: told of the proxy, and not.
var ways = []struct {
	name   string // the audit's mode
	prefix []string
}{
	{"explicit", nil},
	{"transparent", unproxied},
}

// Ledger: SI-1, ED-5, ED-6, ED-36
func TestSecretReachesTheOriginAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, who := range callers {
		for _, way := range ways {
			t.Run(who.name+"/"+way.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, apiHost)
				script := write(t, share(t), "job.sh", jobScript)
				flags := append(allow(w.flags(), apiHost), "--secret", "API_TOKEN@"+apiHost,
					"--secret-from", "API_TOKEN=file:"+write(t, share(t), "token", realToken),
					"--workspace", filepath.Dir(script))
				res := sandbox(t, who, flags, append(slices.Clone(way.prefix), "bash", "/workspace/job.sh", realToken[:12])...)
				res.want(t, 0)

				received := w.Received()
				if len(received) != 1 || received[0].Header.Get("Authorization") != "Bearer "+realToken {
					t.Fatalf("origin received %+v, want one request with the secret", received)
				}
				var echoed harness.Received
				if err := json.Unmarshal([]byte(before(res.stdout, "\n")), &echoed); err != nil {
					t.Fatalf("parse the answer: %v\n%s%s", err, clip(res.stdout), clip(res.stderr))
				}
				if echoed.Host != apiHost {
					t.Errorf("the answer is for %q, want %q", echoed.Host, apiHost)
				}
				if strings.Contains(res.stdout+res.stderr, realToken) {
					t.Errorf("the secret came back into the sandbox:\n%s", clip(res.stdout))
				}
				contains(t, res.stdout, "files: none\n", "environments: none\n")
				crossing := requests(res.audit, apiHost)
				if len(crossing) == 0 || crossing[len(crossing)-1].Mode != way.name || len(crossing[len(crossing)-1].Injected) != 1 {
					t.Errorf("audit %+v, want one injected %s request", res.audit, way.name)
				}
			})
		}
	}
}

// jobScript sends the placeholder and then looks for the secret, whose first
// bytes are its argument, in all that the sandbox can read. The pattern is
// written so that the search doesn't find itself.
const jobScript = `
curl -sS --max-time 20 -H "Authorization: Bearer $API_TOKEN" https://` + apiHost + `/v1/things || exit 1
echo
case $API_TOKEN in *"$1"*) echo "the variable holds the secret"; exit 1 ;; esac
pattern="[${1:0:1}]${1:1}"
found=$(cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep -c "$pattern")
[ "$found" = 0 ] && echo "environments: none"
found=$(find / /dev/shm \( -path /proc -o -path /sys -o -path /usr -o -path /dev \) -prune -o -type f -readable -exec grep -laE "$pattern" {} + 2>/dev/null)
[ -z "$found" ] && echo "files: none" || echo "files: $found"
`

// Ledger: SI-5, ED-24
func TestPlaceholderToAnotherHostIsRefused(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, apiHost, otherHost)
			flags := append(allow(w.flags(), apiHost, otherHost), "--secret", "API_TOKEN@"+apiHost,
				"--secret-from", "API_TOKEN=file:"+write(t, share(t), "token", realToken))
			res := sandbox(t, asRoot, flags, append(slices.Clone(way.prefix), "sh", "-c",
				`curl -sS --max-time 20 -w '\n%{http_code}' -H "Authorization: Bearer $API_TOKEN" https://`+otherHost+`/`)...)
			res.want(t, 0)
			contains(t, res.stdout, "placeholder_wrong_host", "\n403")
			if got := w.Received(); len(got) != 0 {
				t.Errorf("the origin received %+v, want nothing", got)
			}
		})
	}
}

// Ledger: ED-23, NP-16, ED-30
func TestHostOutsideThePolicyIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apiHost, offHost)
	flags := allow(w.flags(), apiHost)

	t.Run("explicit", func(t *testing.T) {
		t.Parallel()
		res := sandbox(t, asRoot, flags, "curl", "-sS", "--max-time", "20", "-D", "-", "https://"+offHost+"/")
		if res.code == 0 {
			t.Error("curl reached a host outside the policy")
		}
		contains(t, res.stdout, "403", "network_policy_denied")
		denied(t, res, offHost, "network_policy_denied")
	})
	t.Run("plain http", func(t *testing.T) {
		t.Parallel()
		res := sandbox(t, asRoot, flags, "curl", "-sS", "--max-time", "20", "-w", "\n%{http_code}", "http://"+offHost+"/")
		res.want(t, 0)
		contains(t, res.stdout, `"network_policy_denied"`, offHost, "\n403")
		denied(t, res, offHost, "network_policy_denied")
	})
	t.Run("name", func(t *testing.T) {
		t.Parallel()
		res := sandbox(t, asRoot, flags, "/usr/bin/python3", "-c", dnsProbe, offHost)
		contains(t, res.stdout, "rcode 5\n") // REFUSED, RFC 1035 §4.1.1
		denied(t, res, offHost, "network_policy_denied")
	})
	t.Run("raw TCP", func(t *testing.T) {
		t.Parallel()
		// The sandbox has an address from elsewhere and says whose it is.
		res := sandbox(t, asRoot, flags, append(slices.Clone(unproxied), "curl", "-sS", "--max-time", "20",
			"--resolve", offHost+":443:192.0.2.1", "https://"+offHost+"/")...)
		if res.code == 0 && !strings.Contains(res.stdout, "network_policy_denied") {
			t.Errorf("raw TCP reached a host outside the policy: %s", clip(res.stdout))
		}
		denied(t, res, offHost, "network_policy_denied")
	})
	t.Cleanup(func() {
		if got := w.Received(); len(got) != 0 {
			t.Errorf("the origin received %+v, want nothing", got)
		}
	})
}

// Ledger: ED-6
func TestRawTCPIsInterceptedAndJudged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apiHost)
	res := sandbox(t, asRoot, allow(w.flags(), apiHost), append(slices.Clone(unproxied), "curl", "-sS", "--max-time", "20",
		"--resolve", apiHost+":443:192.0.2.1", "https://"+apiHost+"/raw")...)
	res.want(t, 0)
	if got := w.Received(); len(got) != 1 || got[0].Path != "/raw" {
		t.Errorf("the origin received %+v, want /raw", got)
	}
	if got := requests(res.audit, apiHost); len(got) == 0 || got[len(got)-1].Mode != "transparent" {
		t.Errorf("audit %+v, want a transparent request", res.audit)
	}
}

// dnsProbe asks any resolver for its argument's address and prints the code.
const dnsProbe = `
import socket, struct, sys
q = struct.pack(">6H", 7, 0x100, 1, 0, 0, 0)
for label in sys.argv[1].split("."):
    q += bytes([len(label)]) + label.encode()
q += struct.pack(">BHH", 0, 1, 1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(10)
s.sendto(q, ("192.0.2.53", 53))
print("rcode", s.recv(512)[3] & 15)
`

// requests returns the records of HTTP crossings to host.
func requests(audit []harness.Record, host string) []harness.Record {
	var out []harness.Record
	for _, r := range audit {
		if r.Mode != "dns" && r.Host == host {
			out = append(out, r)
		}
	}
	return out
}

// denied fails the test unless the audit has a refusal of host for reason, and
// no allowed crossing to it.
func denied(t *testing.T, res result, host, reason string) {
	t.Helper()
	found := false
	for _, r := range res.audit {
		if r.Host != host {
			continue
		}
		found = found || r.Verdict == "deny" && r.Reason == reason
		if r.Verdict == "allow" {
			t.Errorf("audit has an allowed crossing to %s: %+v", host, r)
		}
	}
	if !found {
		t.Errorf("audit has no refusal of %s for %s: %+v", host, reason, res.audit)
	}
}

// share returns a new folder that every caller can read.
func share(t *testing.T) string {
	t.Helper()
	dir := folder(t, asRoot)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func before(s, sep string) string {
	head, _, _ := strings.Cut(s, sep)
	return head
}

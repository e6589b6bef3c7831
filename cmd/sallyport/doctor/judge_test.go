package doctor_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/cmd/sallyport/doctor"
	"github.com/sallyport/sallyport/edge/audit"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	const answer = "1.0.42"
	explicit := audit.Record{Verdict: audit.VerdictAllow, Mode: audit.ModeExplicit, Host: "a.test"}
	transparent := audit.Record{Verdict: audit.VerdictAllow, Mode: audit.ModeTransparent, Host: "a.test"}
	named := audit.Record{Verdict: audit.VerdictAllow, Mode: audit.ModeDNS, Host: "a.test"}
	distrusted := audit.Record{Verdict: audit.VerdictDeny, Mode: audit.ModeExplicit, Reason: "protocol_denied", Detail: "TLS handshake: remote error: tls: unknown certificate authority"}
	denied := audit.Record{Verdict: audit.VerdictDeny, Mode: audit.ModeExplicit, Reason: "port_denied"}
	works := doctor.Outcome{Output: "noise\n" + answer + "\n"}
	cases := []struct {
		name    string
		way     doctor.Way
		outcome doctor.Outcome
		records []audit.Record
		set     string
		status  doctor.Status
		crossed string
		cause   string
		advice  string
	}{
		{"works", doctor.Explicit, works, []audit.Record{explicit}, "/b", doctor.OK, "explicit", "", ""},
		{"works another way", doctor.Explicit, works, []audit.Record{named, transparent}, "/b", doctor.OK, "transparent", "", ""},
		{"past the edge", doctor.Explicit, works, []audit.Record{named}, "/b", doctor.Failed, "", "no record", "past the edge"},
		{"exit code", doctor.Explicit, doctor.Outcome{Code: 1, Output: answer}, []audit.Record{explicit}, "/b", doctor.Failed, "explicit", "made nothing of the answer", "what it said"},
		{"another answer", doctor.Transparent, doctor.Outcome{Output: "1.0.4"}, []audit.Record{transparent}, "/b", doctor.Failed, "transparent", "made nothing of the answer", "what it said"},
		{"no variable", doctor.Explicit, doctor.Outcome{Code: 60}, []audit.Record{distrusted}, "", doctor.Failed, "", "doesn't trust", "set CA_FILE=/wanted"},
		{"variable unheeded", doctor.Explicit, doctor.Outcome{Code: 60}, []audit.Record{distrusted}, "/b", doctor.Failed, "", "doesn't trust", "told by CA_FILE=/b"},
		{"refused", doctor.Explicit, doctor.Outcome{Code: 1}, []audit.Record{denied}, "/b", doctor.Failed, "", "port_denied", "audit"},
		{"lost with a proxy", doctor.Explicit, doctor.Outcome{Code: 1}, nil, "/b", doctor.Failed, "", "nothing of it reached", "HTTPS_PROXY=http://p"},
		{"lost without", doctor.Transparent, doctor.Outcome{Code: 124, TimedOut: true}, []audit.Record{named}, "/b", doctor.Failed, "", "ran out of time", "resolv.conf"},
		{"absent", "", doctor.Outcome{}, nil, "", doctor.Absent, "", "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.outcome.Records = c.records
			got := doctor.Judge(doctor.Finding{
				Probe: doctor.Probe{Name: "probe", Trust: "CA_FILE"}, Way: c.way, Outcome: c.outcome,
				Answer: answer, Proxy: "http://p", Set: c.set, Wanted: "/wanted",
			})
			if got.Status != c.status || got.Crossed != c.crossed || !strings.Contains(got.Cause, c.cause) || !strings.Contains(got.Advice, c.advice) ||
				(got.Cause == "") != (c.cause == "") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// What a probe said is printed to a terminal: nothing in it moves the cursor.
func TestSaidIsOneLineOfText(t *testing.T) {
	t.Parallel()
	got := doctor.Judge(doctor.Finding{
		Probe: doctor.Probe{Name: "probe"}, Way: doctor.Explicit,
		Outcome: doctor.Outcome{Code: 1, Output: "first\n\x1b[2Jlast\x07 " + strings.Repeat("é", 400) + "\n \n"},
	})
	if strings.ContainsAny(got.Said, "\x1b\x07\n") || !strings.HasPrefix(got.Said, "[2Jlast") || len(got.Said) > 310 {
		t.Errorf("%q", got.Said)
	}
}

// Each probe has a host of its own, and says what to mend.
func TestProbesAreWhole(t *testing.T) {
	t.Parallel()
	hosts := map[string]string{}
	for _, p := range doctor.Probes() {
		if p.Have == "" || p.Run == "" || p.Trust == "" {
			t.Errorf("%+v", p)
		}
		for _, way := range p.Ways() {
			h := p.Host(way)
			if other, twice := hosts[h]; twice || !strings.HasSuffix(h, "."+doctor.Domain) || strings.Count(h, ".") != 2 {
				t.Errorf("%s and %s: host %s", p.Name, other, h)
			}
			hosts[h] = p.Name
		}
	}
}

// The class that is shipped is what its source says, for runtimes that come
// without a compiler.
func TestJavaProbeIsItsSource(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.Command("javac", "--release", "11", "-g:none", "-d", dir, "probes/Probe.java").CombinedOutput(); err != nil {
		t.Fatalf("compile: %v: %s", err, out)
	}
	built, err := os.ReadFile(filepath.Join(dir, "Probe.class"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := doctor.Files()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(built, files[doctor.Dir+"/Probe.class"]) {
		t.Error("Probe.class is older than Probe.java: run go generate ./cmd/sallyport/doctor")
	}
}

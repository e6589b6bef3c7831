package replay_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/policy/replay"
)

func compile(t testing.TB, globs ...string) *policy.Policy {
	t.Helper()
	var doc policy.Document
	for _, g := range globs {
		r := policy.Rule{HostGlob: strings.TrimPrefix(g, "-"), Action: policy.Allow}
		if r.HostGlob != g {
			r.Action = policy.Deny
		}
		doc.Rules = append(doc.Rules, r)
	}
	p, err := policy.Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func line(boundary, host, verdict, reason string) string {
	return fmt.Sprintf(`{"time":"2026-01-02T03:04:05.678Z","boundary":%q,"labels":{"environment":"env_01","session":"ses_01"},`+
		`"request_id":"req_0123456789abcdef","mode":"transparent","protocol":"h2","method":"GET","scheme":"https","host":%q,"port":443,`+
		`"path":"/v1/things/42/parts","verdict":%q,"rule":1,"glob":"*.example.com","reason":%q,"status":200,"bytes_up":512,"bytes_down":16384,"duration_ms":31}`+"\n",
		boundary, host, verdict, reason)
}

func TestReplay(t *testing.T) {
	t.Parallel()
	log := line("a", "api.example.com", "allow", "allowed") +
		line("a", "api.example.com", "allow", "allowed") +
		line("b", "old.example.com", "allow", "allowed") +
		line("b", "new.example.com", "deny", "network_policy_denied") +
		line("b", "new.example.com", "observe", "network_policy_denied") +
		line("a", "new.example.com", "deny", "port_denied") +
		line("a", "a b", "deny", "bad_host") +
		line("a", "evil.test", "deny", "network_policy_denied") +
		"torn"
	r := replay.New(compile(t, "-old.example.com", "new.example.com"))
	if err := r.Read(strings.NewReader(log)); err != nil {
		t.Fatal(err)
	}
	got := r.Report()
	type flips = replay.Flip
	want := replay.Report{
		Counts:  got.Counts,
		Decided: 6,
		Total:   flips{Opened: 2, Closed: 3},
		Hosts: []replay.HostFlip{
			{Host: "api.example.com", Flip: flips{Closed: 2}, Decision: policy.Decision{Rule: policy.DefaultRule, Reason: policy.ReasonDenied}},
			{Host: "new.example.com", Flip: flips{Opened: 2}, Decision: policy.Decision{Action: policy.Allow, Rule: 1, Glob: "new.example.com", Reason: policy.ReasonAllowed}},
			{Host: "old.example.com", Flip: flips{Closed: 1}, Decision: policy.Decision{Rule: 0, Glob: "old.example.com", Reason: policy.ReasonDenied}},
		},
		Rules: []replay.RuleFlip{
			{Rule: policy.DefaultRule, Flip: flips{Closed: 2}},
			{Rule: 1, Glob: "new.example.com", Flip: flips{Opened: 2}},
			{Rule: 0, Glob: "old.example.com", Flip: flips{Closed: 1}},
		},
		Sandboxes: []replay.SandboxFlip{{Boundary: "b", Flip: flips{Opened: 2, Closed: 1}}, {Boundary: "a", Flip: flips{Closed: 2}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got.Lines != 9 || got.Malformed != 1 || got.Bytes != int64(len(log)) {
		t.Errorf("%+v", got.Counts)
	}
}

// day is a log of the given number of lines, made as it is read: mostly some
// hundred hosts, now and then one that was never seen before.
type day struct {
	left  int
	block [][]byte
	rand  *rand.Rand
	rest  []byte
	fresh int
}

func newDay(lines int) *day {
	d := &day{left: lines, rand: rand.New(rand.NewPCG(9, 10))}
	for i := range 512 {
		host, verdict, reason := fmt.Sprintf("host%d.example.com", i), "allow", "allowed"
		if i%5 == 0 {
			host, verdict, reason = fmt.Sprintf("host%d.example.net", i), "deny", "network_policy_denied"
		}
		d.block = append(d.block, []byte(line(fmt.Sprintf("sbx_%d", i%97), host, verdict, reason)))
	}
	return d
}

func (d *day) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(d.rest) == 0 {
			if d.left == 0 {
				break
			}
			d.left--
			if d.rest = d.block[d.rand.IntN(len(d.block))]; d.left%20 == 0 {
				d.fresh++
				d.rest = []byte(line(fmt.Sprint("sbx_", d.fresh), fmt.Sprintf("h%d.example.org", d.fresh), "deny", "network_policy_denied"))
			}
		}
		copied := copy(p[n:], d.rest)
		d.rest = d.rest[copied:]
		n += copied
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// A day of five million crossings, with a quarter of a million hosts and
// sandboxes, takes no more memory than the limits say.
func TestADayInBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("short: five million lines take a while")
	}
	const lines = 5_000_000
	r := replay.New(compile(t, "*.example.org", "host1*.example.com"))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if err := r.Read(newDay(lines)); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	report := r.Report()
	if report.Lines != lines || report.OtherHosts.Opened == 0 || report.OtherSandboxes.Opened == 0 {
		t.Errorf("%d lines, beyond the limits %+v and %+v", report.Lines, report.OtherHosts, report.OtherSandboxes)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 128<<20 { //nolint:gosec // far below the limit
		t.Errorf("%d MiB kept", grown>>20)
	}
	sum := report.OtherHosts.Opened + report.OtherHosts.Closed
	for _, h := range report.Hosts {
		sum += h.Opened + h.Closed
	}
	if want := report.Total.Opened + report.Total.Closed; sum != want {
		t.Errorf("hosts add up to %d of %d flips", sum, want)
	}
}

// benchmarkLog is a log in memory, for the reading alone to be measured.
func benchmarkLog(b *testing.B) (log []byte, lines int) {
	b.Helper()
	lines = 200_000
	log, err := io.ReadAll(newDay(lines))
	if err != nil {
		b.Fatal(err)
	}
	return log, lines
}

func perLine(b *testing.B, lines int) {
	b.Helper()
	b.ReportMetric(float64(b.N)*float64(lines)/b.Elapsed().Seconds(), "lines/s")
}

func BenchmarkReplay(b *testing.B) {
	log, lines := benchmarkLog(b)
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		if err := replay.New(compile(b, "*.example.org", "host1*.example.com")).Read(bytes.NewReader(log)); err != nil {
			b.Fatal(err)
		}
	}
	perLine(b, lines)
}

// The same log decoded by encoding/json, for comparison: into the same fields,
// and into whatever there is, as jq does.
func BenchmarkDecodeFields(b *testing.B) {
	type fields struct{ Boundary, Host, Verdict, Reason string }
	benchmarkDecode(b, func(d *json.Decoder) error { return d.Decode(new(fields)) })
}

func BenchmarkDecodeAll(b *testing.B) {
	benchmarkDecode(b, func(d *json.Decoder) error { return d.Decode(new(any)) })
}

func benchmarkDecode(b *testing.B, decode func(*json.Decoder) error) {
	log, lines := benchmarkLog(b)
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		for d := json.NewDecoder(bytes.NewReader(log)); d.More(); {
			if err := decode(d); err != nil {
				b.Fatal(err)
			}
		}
	}
	perLine(b, lines)
}

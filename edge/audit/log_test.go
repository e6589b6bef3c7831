package audit_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/inject"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T) (*audit.Log, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := audit.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return l, path
}

func read(t *testing.T, path string) []audit.Record {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []audit.Record
	for sc := bufio.NewScanner(bytes.NewReader(b)); sc.Scan(); {
		var r audit.Record
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatalf("line %q: %v", sc.Text(), err)
		}
		out = append(out, r)
	}
	return out
}

// Ledger: LO-3
// Ledger: SI-18
func TestGolden(t *testing.T) {
	t.Parallel()
	l, path := open(t)
	l.Record(audit.Record{
		Time: time.Date(2026, 3, 4, 5, 6, 7, 80_000_000, time.FixedZone("x", 3600)), Boundary: "sb-1",
		Labels: map[string]string{"session": "s-1", "environment": "e-1"}, RequestID: "r-1",
		Mode: audit.ModeExplicit, Protocol: "h2", Method: "POST", Scheme: "https", Host: "api.example.com", Port: 443,
		Path: "/v1/things?token=hunter2", Verdict: audit.VerdictAllow, Rule: 2, Glob: "*.example.com", Reason: "allowed",
		Detail: "d", Severity: audit.SeverityLow, Status: 200, BytesUp: 10, BytesDown: 20, DurationMS: 30, Address: "192.0.2.1:443",
		Injected: []inject.Injected{{Env: "TOKEN", Secret: "store:token", Header: "Authorization", Version: "3"}},
	})
	l.Record(audit.Record{Time: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Boundary: "sb-1", Mode: audit.ModeDNS,
		Host: "evil.example.com", Verdict: audit.VerdictDeny, Rule: -1, Reason: "network_policy_denied"})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"time":"2026-03-04T04:06:07.08Z","boundary":"sb-1","labels":{"environment":"e-1","session":"s-1"},"request_id":"r-1","mode":"explicit","protocol":"h2","method":"POST","scheme":"https","host":"api.example.com","port":443,"path":"/v1/things","verdict":"allow","rule":2,"glob":"*.example.com","reason":"allowed","detail":"d","severity":"low","status":200,"bytes_up":10,"bytes_down":20,"duration_ms":30,"address":"192.0.2.1:443","injected":[{"env":"TOKEN","secret":"store:token","header":"Authorization","version":"3"}]}
{"time":"2026-03-04T05:06:07Z","boundary":"sb-1","mode":"dns","host":"evil.example.com","verdict":"deny","rule":-1,"reason":"network_policy_denied","bytes_up":0,"bytes_down":0,"duration_ms":0}
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNewFileIsPrivate(t *testing.T) {
	t.Parallel()
	l, path := open(t)
	defer l.Close()
	fi, err := os.Stat(path)
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
}

func TestConcurrentRecordsAreAllWritten(t *testing.T) {
	t.Parallel()
	l, path := open(t)
	const writers, each = 16, 500
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				l.Record(audit.Record{Boundary: fmt.Sprint(w), Port: uint16(i)})
			}
		})
	}
	wg.Wait()
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	next := map[string]uint16{}
	for _, r := range read(t, path) {
		if r.Port != next[r.Boundary] {
			t.Fatalf("boundary %s: record %d after %d", r.Boundary, r.Port, next[r.Boundary])
		}
		next[r.Boundary]++
	}
	for w := range writers {
		if next[fmt.Sprint(w)] != each {
			t.Errorf("writer %d: %d records", w, next[fmt.Sprint(w)])
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestReopenFollowsRotation(t *testing.T) {
	t.Parallel()
	l, path := open(t)
	const n = 2000
	var wg sync.WaitGroup
	wg.Go(func() {
		for range n {
			l.Record(audit.Record{})
		}
	})
	rotated := []string{}
	for i := range 5 {
		old := fmt.Sprintf("%s.%d", path, i)
		if err := os.Rename(path, old); err != nil {
			t.Fatal(err)
		}
		if err := l.Reopen(); err != nil {
			t.Fatal(err)
		}
		rotated = append(rotated, old)
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	total := len(read(t, path))
	for _, old := range rotated {
		total += len(read(t, old))
	}
	if total != n {
		t.Errorf("%d records in all files, want %d", total, n)
	}
}

// disk is an output that fails or blocks on demand.
type disk struct {
	mu   sync.Mutex
	full bool
	got  bytes.Buffer
}

var errFull = errors.New("no space left")

func (d *disk) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full {
		n := len(p) / 2
		d.got.Write(p[:n])
		return n, errFull
	}
	return d.got.Write(p)
}

func (d *disk) Close() error { return nil }

func (d *disk) set(full bool) {
	d.mu.Lock()
	d.full = full
	d.mu.Unlock()
}

func TestFullDiskIsBackPressureAndNothingIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &disk{full: true}
		l := audit.New(d)
		const n = 9_000 // more than what may be pending
		detail := strings.Repeat("x", 500)
		finished := make(chan struct{})
		go func() {
			defer close(finished)
			for i := range n {
				l.Record(audit.Record{Rule: i, Detail: detail})
			}
		}()
		synctest.Wait()
		select {
		case <-finished:
			t.Error("records were accepted without bound")
		default:
		}
		if err := l.Err(); !errors.Is(err, errFull) {
			t.Errorf("Err: %v", err)
		}
		if err := l.Flush(); !errors.Is(err, errFull) {
			t.Errorf("Flush: %v", err)
		}
		d.set(false)
		<-finished
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		sc := bufio.NewScanner(&d.got)
		for i := range n {
			var r audit.Record
			if !sc.Scan() || json.Unmarshal(sc.Bytes(), &r) != nil || r.Rule != i {
				t.Fatalf("record %d is %q", i, sc.Text())
			}
		}
	})
}

func TestCloseReportsWhatIsLost(t *testing.T) {
	t.Parallel()
	l := audit.New(&disk{full: true})
	l.Record(audit.Record{})
	if err := l.Close(); !errors.Is(err, errFull) {
		t.Errorf("Close: %v", err)
	}
	l.Record(audit.Record{})
	if err := l.Close(); !errors.Is(err, audit.ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
	if err := l.Flush(); err == nil {
		t.Error("Flush after a loss succeeded")
	}
}

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

func BenchmarkRecord(b *testing.B) {
	l := audit.New(discard{io.Discard})
	defer l.Close()
	r := audit.Record{Boundary: "sb-1", Labels: map[string]string{"session": "s-1"}, Mode: audit.ModeExplicit, Method: "GET",
		Host: "api.example.com", Port: 443, Path: "/v1/things", Verdict: audit.VerdictAllow, Reason: "allowed", Status: 200}
	b.ReportAllocs()
	for b.Loop() {
		l.Record(r)
	}
}

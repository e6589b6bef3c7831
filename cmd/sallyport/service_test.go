package main

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/sandboxd"
	"github.com/sallyport/sallyport/sandboxd/api"
	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/id"
	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/machine"
	"github.com/sallyport/sallyport/sandboxd/provider"
	"github.com/sallyport/sallyport/sandboxd/setup"
	"github.com/sallyport/sallyport/sandboxd/store/sqlite"
)

// remoteService is a whole API on a real store, reached as users reach it. Only
// what runs scripts is a stand-in, so that runs end as a test says.
type remoteService struct {
	url, keyFile string
	runs         *scripted
}

func startService(t *testing.T) *remoteService {
	t.Helper()
	db, err := sqlite.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	runs := &scripted{records: sandboxd.Records{Store: db}}
	service := sandboxd.New(sandboxd.Options{
		Store: db, Runs: runs,
		Offers: []sandboxd.Offer{{
			Description: provider.Description{Name: "runs", DisplayName: "Agent runner", Text: "Managed Linux compute.", Available: true, Capabilities: []provider.Capability{provider.NetworkPolicy}},
			Rules:       environment.Provider{Name: "runs", Machines: machine.Local(8000, 65536), Steps: true, BootSetup: true, Privileged: true},
			Default:     true,
		}},
	})
	key, err := service.Bootstrap(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(api.New(service, slog.New(slog.DiscardHandler)))
	t.Cleanup(server.Close)
	s := &remoteService{url: server.URL, keyFile: filepath.Join(t.TempDir(), "key"), runs: runs}
	if err := os.WriteFile(s.keyFile, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// unstable is what differs from run to run.
var unstable = regexp.MustCompile(`\b(env|srun|req|org|usr|img)_[0-9A-Za-z]+|\d{4}-\d\d-\d\dT[0-9:.]+Z|\b\d+\.\d+s\b`)

// call runs the command and returns its exit code and both outputs.
func (s *remoteService) call(t *testing.T, stdin string, args ...string) (int, string, string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), append(args, "--api", s.url, "--key-file", s.keyFile), strings.NewReader(stdin), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// create makes an environment and returns its id.
func (s *remoteService) create(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	code, out, errs := s.call(t, stdin, append([]string{"env", "create"}, args...)...)
	found := regexp.MustCompile(`env_\w+`).FindString(out)
	if code != exitDone || found == "" {
		t.Fatalf("create %q: exit code %d, %s%s", args, code, out, errs)
	}
	return found
}

// golden compares what doesn't change from run to run.
func golden(t *testing.T, got, want string) {
	t.Helper()
	got = unstable.ReplaceAllStringFunc(got, func(s string) string {
		if kind, _, ok := strings.Cut(s, "_"); ok {
			return kind
		}
		return "T"
	})
	// Columns are as wide as what was taken out.
	got = regexp.MustCompile(`  +`).ReplaceAllString(got, "  ")
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// scripted ends a run at its first Get that waits. A script with "false" in it
// fails, and is said to have failed there.
type scripted struct {
	records sandboxd.Records
	ids     id.Source
	mu      sync.Mutex
	scripts map[string]string
}

var _ sandboxd.Runs = (*scripted)(nil)

func (r *scripted) Start(ctx context.Context, q setup.Request) (setup.Run, error) {
	run := setup.Run{
		ID: r.ids.New(id.SetupRun), OrganizationID: q.OrganizationID, EnvironmentID: q.EnvironmentID, Kind: q.Kind,
		Status: setup.Queued, Phase: setup.Provision, RequestedBy: q.RequestedBy, Fingerprint: q.Fingerprint, CreatedAt: time.Now().UTC(),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scripts == nil {
		r.scripts = map[string]string{}
	}
	r.scripts[run.ID] = q.Definition.Setup.Script
	return run, r.records.SaveRun(ctx, run)
}

func (r *scripted) Cancel(ctx context.Context, id string) (setup.Run, error) {
	run, err := r.records.Run(ctx, id)
	if err == nil && run.Status.Terminal() {
		return run, fault.New(fault.SetupRunFinished, "the setup run has ended: it is %s", run.Status)
	}
	run.Status, run.FinishedAt = setup.Cancelled, time.Now().UTC()
	return run, r.records.SaveRun(ctx, run)
}

func (r *scripted) Get(ctx context.Context, id string, wait time.Duration) (setup.Run, error) {
	run, err := r.records.Run(ctx, id)
	if err != nil || run.Status.Terminal() || wait == 0 {
		return run, err
	}
	r.mu.Lock()
	script := r.scripts[id]
	r.mu.Unlock()
	run.StartedAt, run.LogLines = run.CreatedAt, int64(len(scriptedLog))
	switch {
	case run.Status == setup.Queued:
		run.Status, run.Phase = setup.Running, setup.Script
		return run, r.records.SaveRun(ctx, run)
	case strings.Contains(script, "false"):
		run.Status, run.ExitCode, run.FailedLine, run.FailedCommand = setup.Failed, ptr(1), 2, "false"
		run.StderrTail, run.HintCode, run.Hint, run.Message = "\x1b[31mno\x1b[0m\n", "not_root", "It isn't root.", "The script failed."
	default:
		run.Status, run.Phase, run.ExitCode = setup.Succeeded, setup.Cleanup, ptr(0)
		run.ImageID = r.ids.New("img")
		if err := r.records.SaveImage(ctx, image.Image{ID: run.ImageID, OrganizationID: run.OrganizationID, EnvironmentID: run.EnvironmentID, State: image.Usable, CreatedAt: run.CreatedAt}); err != nil {
			return run, err
		}
	}
	run.FinishedAt = time.Now().UTC()
	return run, r.records.SaveRun(ctx, run)
}

// scriptedLog is what every run printed.
var scriptedLog = []setup.Line{
	{Seq: 1, Stream: setup.System, Text: "Compute is ready."},
	{Seq: 2, Stream: setup.Marker, Line: 1, Text: "echo hello"},
	{Seq: 3, Stream: setup.Stdout, Line: 1, Text: "\x1b]0;title\ahel\x1b[2Jlo\r"},
	{Seq: 4, Stream: setup.Marker, Line: 2, Text: "false"},
}

func (r *scripted) Log(ctx context.Context, id string, after int64, limit int, _ time.Duration) (setup.Page, error) {
	run, err := r.Get(ctx, id, 0)
	p := setup.Page{NextAfter: after, Status: run.Status}
	for _, l := range scriptedLog {
		if l.Seq > after && len(p.Lines) < limit && run.LogLines >= l.Seq {
			p.Lines, p.NextAfter = append(p.Lines, l), l.Seq
		}
	}
	return p, err
}

package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/sandboxd"
	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/api"
	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/id"
	"github.com/sallyport/sallyport/sandboxd/machine"
	"github.com/sallyport/sallyport/sandboxd/provider"
	"github.com/sallyport/sallyport/sandboxd/setup"
	"github.com/sallyport/sallyport/sandboxd/store"
	"github.com/sallyport/sallyport/sandboxd/store/sqlite"
)

// service is a whole API on a real store; only what runs scripts is a stand-in.
type service struct {
	*httptest.Server
	api     *api.API
	store   store.Store
	runs    *runs
	service *sandboxd.Service
	admin   string
	log     *locked
	broken  bool // the test broke the store
}

// catalogue has a large machine that doesn't enforce policies.
var catalogue = machine.Catalogue{
	{Name: "small", CPUMilli: 4000, MemoryMiB: 8192, Enforces: true},
	{Name: "large", CPUMilli: 8000, MemoryMiB: 65536},
	{Name: "gpu", CPUMilli: 8000, MemoryMiB: 65536, Enforces: true, Accelerators: []string{"l4"}},
}

func start(t testing.TB) *service {
	t.Helper()
	db, err := sqlite.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &service{store: db, log: &locked{}}
	s.runs = &runs{records: sandboxd.Records{Store: db}, unfinished: map[string]setup.Run{}, changed: make(chan struct{})}
	s.service = sandboxd.New(sandboxd.Options{
		Store: db, Runs: s.runs,
		Offers: []sandboxd.Offer{
			{
				Description: provider.Description{Name: "runs", DisplayName: "Agent runner", Text: "Managed Linux compute.", Available: true},
				Rules:       environment.Provider{Name: "runs", Machines: catalogue, Steps: true, BootSetup: true, Privileged: true, ComputerUse: true},
				Default:     true,
			},
			{
				Description: provider.Description{Name: "process", DisplayName: "Plain processes", Text: "No isolation.", Reason: "not enabled"},
				Rules:       environment.Provider{Name: "process", Machines: machine.Catalogue{{Name: "here", CPUMilli: 1000, MemoryMiB: 1024, Enforces: true}}},
			},
		},
	})
	if s.admin, err = s.service.Bootstrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(s.log, nil))
	s.api = api.New(s.service, log)
	s.Server = httptest.NewUnstartedServer(nil)
	s.Server.Config = api.Server(s.api, log)
	s.Server.Start()
	t.Cleanup(func() {
		s.Server.Close()
		if err := db.Check(context.Background()); err != nil && !s.broken {
			t.Errorf("check the store: %v", err)
		}
		db.Close()
	})
	return s
}

// locked is a log that can be read while it is written.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// reply is an answer with its body read.
type reply struct {
	Status int
	Header http.Header
	Text   string
	JSON   map[string]any
}

// code is that of an error, "" for none.
func (r reply) code() string {
	e, _ := r.JSON["error"].(map[string]any)
	code, _ := e["code"].(string)
	return code
}

func (r reply) param() string {
	e, _ := r.JSON["error"].(map[string]any)
	param, _ := e["param"].(string)
	return param
}

func (r reply) text(path ...string) string {
	s, _ := r.at(path...).(string)
	return s
}

// at follows members.
func (r reply) at(path ...string) any {
	var v any = r.JSON
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// call sends a request as the admin; headers are pairs of name and value, and
// replace what would be sent otherwise. An empty value sends none.
func (s *service) call(t testing.TB, method, path, body string, headers ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.admin)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Del(headers[i])
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	return s.do(t, r)
}

func (s *service) do(t testing.TB, r *http.Request) reply {
	t.Helper()
	res, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := reply{Status: res.StatusCode, Header: res.Header, Text: string(data)}
	if len(data) > 0 && res.Header.Get("Content-Type") == "application/json" {
		if err := json.Unmarshal(data, &out.JSON); err != nil {
			t.Fatalf("%s %s: %v in %q", r.Method, r.URL, err, data)
		}
	}
	return out
}

// create makes an environment and returns its path and the answer.
func (s *service) create(t testing.TB, body string) (string, reply) {
	t.Helper()
	r := s.call(t, "POST", "/v1/environments", body)
	if r.Status != http.StatusCreated {
		t.Fatalf("create %s: %d %s", body, r.Status, r.Text)
	}
	return "/v1/environments/" + r.text("environment_id"), r
}

// key makes a key of another role.
func (s *service) key(t testing.TB, role account.Role) string {
	t.Helper()
	r := s.call(t, "POST", "/v1/api_keys", `{"role":"`+string(role)+`"}`)
	if r.Status != http.StatusCreated {
		t.Fatalf("create key: %d %s", r.Status, r.Text)
	}
	return r.text("key")
}

// stranger is an admin key of another organisation.
func (s *service) stranger(t testing.TB) string {
	t.Helper()
	var ids id.Source
	key, digest := account.NewKey()
	o := account.Organization{ID: ids.New(id.Organization), Name: "other"}
	u := account.User{ID: ids.New(id.User), OrganizationID: o.ID}
	k := account.Key{ID: ids.New(id.Key), OrganizationID: o.ID, UserID: u.ID, Role: account.Admin, Digest: digest}
	err := s.store.Update(t.Context(), func(w store.Writer) error {
		for _, err := range []error{w.PutOrganization(o), w.PutUser(u), w.PutKey(k)} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// runs stands in for setup.Runner: runs stay queued until the test ends them.
// Records, limits and faults are as setup.Runner documents them.
type runs struct {
	records sandboxd.Records
	ids     id.Source

	mu         sync.Mutex
	unfinished map[string]setup.Run
	changed    chan struct{}
}

var _ sandboxd.Runs = (*runs)(nil)

func (r *runs) Start(ctx context.Context, q setup.Request) (setup.Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, run := range r.unfinished {
		if run.EnvironmentID == q.EnvironmentID {
			e := fault.New(fault.SetupRunInFlight, "a setup run of the environment is in flight")
			e.Details = map[string]any{"active_setup_run_id": run.ID}
			return setup.Run{}, e
		}
		if run.OrganizationID == q.OrganizationID {
			n++
		}
	}
	if n == 4 {
		e := fault.New(fault.SetupRunLimit, "4 manual setup runs are in flight")
		e.Details = map[string]any{"retry_after_seconds": 7}
		return setup.Run{}, e
	}
	run := setup.Run{
		ID: r.ids.New(id.SetupRun), OrganizationID: q.OrganizationID, EnvironmentID: q.EnvironmentID, Kind: q.Kind,
		Status: setup.Queued, RequestedBy: q.RequestedBy, Fingerprint: q.Fingerprint, CreatedAt: time.Now().UTC(),
	}
	if err := r.records.SaveRun(ctx, run); err != nil {
		return setup.Run{}, err
	}
	r.unfinished[run.ID] = run
	return run, nil
}

// end ends a run as edit says.
func (r *runs) end(ctx context.Context, id string, status setup.Status, edit func(*setup.Run)) (setup.Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	run, ok := r.unfinished[id]
	if !ok {
		return run, fault.New(fault.SetupRunFinished, "the run has ended")
	}
	delete(r.unfinished, id)
	run.Status, run.StartedAt, run.FinishedAt = status, run.CreatedAt, time.Now().UTC()
	if edit != nil {
		edit(&run)
	}
	close(r.changed)
	r.changed = make(chan struct{})
	return run, r.records.SaveRun(ctx, run)
}

func (r *runs) Cancel(ctx context.Context, id string) (setup.Run, error) {
	return r.end(ctx, id, setup.Cancelled, nil)
}

func (r *runs) Get(ctx context.Context, id string, wait time.Duration) (setup.Run, error) {
	r.mu.Lock()
	changed, running := r.changed, r.unfinished[id].ID != ""
	r.mu.Unlock()
	if running {
		select {
		case <-changed:
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return r.records.Run(ctx, id)
}

func (r *runs) Log(ctx context.Context, id string, after int64, limit int, _ time.Duration) (setup.Page, error) {
	run, err := r.records.Run(ctx, id)
	p := setup.Page{NextAfter: after, Status: run.Status}
	for seq := after + 1; seq <= run.LogLines && len(p.Lines) < limit; seq++ {
		p.Lines = append(p.Lines, setup.Line{Seq: seq, Stream: setup.Stdout, Text: "x", At: run.CreatedAt})
		p.NextAfter = seq
	}
	return p, err
}

package setup_test

import (
	"context"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/certs"
	"github.com/sallyport/sallyport/sandboxd/boundaries"
	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/machine"
	"github.com/sallyport/sallyport/sandboxd/provider"
	"github.com/sallyport/sallyport/sandboxd/provider/runs"
	"github.com/sallyport/sallyport/sandboxd/setup"
)

const testTimeout = 2 * time.Minute

// bed is a Runner with real sandboxes behind a real edge.
type bed struct {
	runner   *setup.Runner
	keeper   *image.Keeper
	provider runs.Contract
	records  *records
	state    string
	stop     func() // returns when Serve has
}

// newBed starts a Runner that ends with the test.
func newBed(t testing.TB, change ...func(*setup.Options)) *bed {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes namespaces")
	}
	b := &bed{records: &records{}, state: t.TempDir()}
	p, err := runs.New(runs.Config{StateDir: filepath.Join(b.state, "runs"), Init: filepath.Join(programs, "sbinit")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	b.provider = runs.Contract{Provider: p}
	if b.keeper, err = image.NewKeeper(image.Options{Records: b.records, Provider: runs.Name, Layers: b.provider}); err != nil {
		t.Fatal(err)
	}
	b.serve(t, change...)
	return b
}

// serve starts a Runner over what is there.
func (b *bed) serve(t testing.TB, change ...func(*setup.Options)) {
	t.Helper()
	o := setup.Options{
		Providers:  map[string]provider.Provider{runs.Name: b.provider},
		Boundaries: boundaries.Edge{Client: edge.client, Trust: trust},
		Images:     b.keeper,
		Records:    b.records,
		Catalogue:  machine.Local(4000, 8192),
		LogDir:     filepath.Join(b.state, "logs"),
	}
	for _, f := range change {
		f(&o)
	}
	var err error
	if b.runner, err = setup.NewRunner(o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.runner.Serve(ctx) }()
	b.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(b.stop)
}

// trust is what the service's program does with the CA.
func trust(ca string, i provider.Image, proxyURL string) (map[string][]byte, map[string]string, error) {
	roots, err := certs.SystemRoots()
	if err != nil {
		return nil, nil, err
	}
	tr, err := certs.NewTrust("/etc/sallyport", []byte(ca), roots)
	if err != nil {
		return nil, nil, err
	}
	files := tr.Files()
	for name, data := range tr.StoreFiles() {
		if !i.Host || path.Dir(name) == "/etc/ssl/certs" {
			files[name] = data
		}
	}
	u, err := url.Parse(proxyURL)
	return files, tr.Env(u), err
}

// definition is of an environment with a script.
func definition(script string) environment.Definition {
	return environment.Definition{Name: "test", Provider: runs.Name, Setup: environment.Setup{Script: script, TimeoutSeconds: 60}}
}

var environments struct {
	sync.Mutex
	n int
}

func newEnvironmentID() string {
	environments.Lock()
	defer environments.Unlock()
	environments.n++
	return "env_" + strings.Repeat("x", environments.n)
}

// begin starts a manual run of an environment of its own.
func (b *bed) begin(t testing.TB, script string, change ...func(*environment.Definition)) setup.Run {
	t.Helper()
	d := definition(script)
	for _, f := range change {
		f(&d)
	}
	run, err := b.runner.Start(t.Context(), setup.Request{
		OrganizationID: "org_" + newEnvironmentID(), EnvironmentID: newEnvironmentID(), Definition: d, Fingerprint: "fp",
		Kind: setup.Manual, RequestedBy: "usr_1",
	})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// await waits for the end of a run.
func (b *bed) await(t testing.TB, id string) setup.Run {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	for {
		run, err := b.runner.Get(ctx, id, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if run.Status.Terminal() {
			return run
		}
		if ctx.Err() != nil {
			t.Fatalf("still %s, %s", run.Status, run.Phase)
		}
	}
}

// run runs a script to its end.
func (b *bed) run(t testing.TB, script string, change ...func(*environment.Definition)) setup.Run {
	t.Helper()
	return b.await(t, b.begin(t, script, change...).ID)
}

// log returns the whole log of a run.
func (b *bed) log(t testing.TB, id string) []setup.Line {
	t.Helper()
	var all []setup.Line
	for after := int64(0); ; {
		page, err := b.runner.Log(context.Background(), id, after, 2000, 0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Lines...)
		if len(page.Lines) == 0 {
			return all
		}
		after = page.NextAfter
	}
}

// text returns lines of some streams.
func text(lines []setup.Line, streams ...setup.Stream) string {
	var b strings.Builder
	for _, l := range lines {
		for _, s := range streams {
			if l.Stream == s {
				b.WriteString(l.Text + "\n")
			}
		}
	}
	return b.String()
}

// session starts a sandbox on an image, as a session would.
func (b *bed) session(t testing.TB, id string) provider.Sandbox {
	t.Helper()
	i, err := b.records.Image(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	stack, err := b.keeper.Stack(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	n, err := b.provider.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	sb, err := b.provider.Start(t.Context(), provider.Spec{ID: strings.ToLower(strings.ReplaceAll(id, "_", "-")), Network: n, Image: stack, DiskBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return sb
}

// sh runs a command in a sandbox.
func sh(t testing.TB, sb provider.Sandbox, script string) string {
	t.Helper()
	var out strings.Builder
	p, err := sb.Exec(t.Context(), provider.Exec{
		Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin", "HOME=/home/user"}, Stdout: &out, Stderr: &out,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

// records are kept in memory.
type records struct {
	mu     sync.Mutex
	runs   map[string]setup.Run
	saved  []setup.Run // in order
	images map[string]image.Image
	fail   func(setup.Run) error
}

func (r *records) SaveRun(_ context.Context, run setup.Run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		if err := r.fail(run); err != nil {
			return err
		}
	}
	if r.runs == nil {
		r.runs = make(map[string]setup.Run)
	}
	if old, ok := r.runs[run.ID]; ok && old.Status.Terminal() {
		return fault.New(fault.Internal, "run %s has ended", run.ID)
	}
	r.runs[run.ID] = run
	r.saved = append(r.saved, run)
	return nil
}

func (r *records) Run(_ context.Context, id string) (setup.Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	run, ok := r.runs[id]
	if !ok {
		return run, fault.New(fault.NotFound, "there is no setup run %q", id)
	}
	return run, nil
}

func (r *records) UnfinishedRuns(context.Context) ([]setup.Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []setup.Run
	for _, run := range r.runs {
		if !run.Status.Terminal() {
			all = append(all, run)
		}
	}
	return all, nil
}

func (r *records) SaveImage(_ context.Context, i image.Image) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.images == nil {
		r.images = make(map[string]image.Image)
	}
	r.images[i.ID] = i
	return nil
}

func (r *records) Image(_ context.Context, id string) (image.Image, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, ok := r.images[id]
	if !ok {
		return i, fault.New(fault.NotFound, "there is no image %q", id)
	}
	return i, nil
}

func (r *records) Images(context.Context) ([]image.Image, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []image.Image
	for _, i := range r.images {
		all = append(all, i)
	}
	return all, nil
}

func (r *records) DeleteImage(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.images, id)
	return nil
}

func (r *records) ImagesInUse(context.Context) ([]string, error) { return nil, nil }

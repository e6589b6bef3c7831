package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/sandboxd/audit"
	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/id"
	"github.com/sallyport/sallyport/sandboxd/setup"
	"github.com/sallyport/sallyport/sandboxd/store"
	"github.com/sallyport/sallyport/sandboxd/store/sqlite"
)

// writerDir tells a copy of this test to be the process that is killed.
const writerDir = "SALLYPORT_TEST_WRITER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerDir); dir != "" {
		if err := writeForEver(dir, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// writeForEver stores environments, each with a run, a standing and an audit
// entry, and prints the id of each one that was acknowledged.
func writeForEver(dir string, acknowledged io.Writer) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, dir)
	if err != nil {
		return err
	}
	var ids id.Source
	var mu sync.Mutex
	failed := make(chan error, 4)
	for range cap(failed) {
		go func() {
			for {
				made, err := writeOne(ctx, s, &ids)
				if err != nil {
					failed <- err
					return
				}
				mu.Lock()
				fmt.Fprintln(acknowledged, made)
				mu.Unlock()
			}
		}()
	}
	return <-failed
}

func writeOne(ctx context.Context, s store.Store, ids *id.Source) (made string, err error) {
	err = s.Update(ctx, func(w store.Writer) error {
		made = ids.New(id.Environment)
		e := environment.Environment{ID: made, OrganizationID: "org_1", Definition: environment.Definition{
			Name: "n", Provider: "runs", Description: strings.Repeat("x", 5000), // more than a page
		}}
		r := setup.Run{ID: ids.New(id.SetupRun), OrganizationID: "org_1", EnvironmentID: made, Kind: setup.Manual, Status: setup.Queued}
		return errors.Join(w.PutEnvironment(e), w.PutRun(r), w.Audit(audit.Entry{Action: "environment.create", Subject: made}))
	})
	return made, err
}

// A process that is killed under load, again and again, loses nothing that it
// acknowledged and leaves nothing half written. SALLYPORT_KILL_ROUNDS asks for
// more rounds than the few of an ordinary run.
func TestKilledWriterLosesNothing(t *testing.T) {
	rounds := 5
	if text := os.Getenv("SALLYPORT_KILL_ROUNDS"); text != "" {
		if _, err := fmt.Sscan(text, &rounds); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	acknowledged := map[string]bool{}
	for round := range rounds {
		before := len(acknowledged)
		killAfter(t, dir, acknowledged, 1+rand.IntN(40))
		if len(acknowledged) == before {
			t.Fatalf("round %d: nothing was written", round)
		}
		expectWhole(t, dir, acknowledged)
	}
	t.Logf("%d rounds, %d acknowledged", rounds, len(acknowledged))
}

// killAfter runs a writer and kills it some time after it acknowledged n.
func killAfter(t *testing.T, dir string, acknowledged map[string]bool, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), writerDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		// A line that the kill cut short was not read as acknowledged.
		if id.Valid(id.Environment, lines.Text()) {
			acknowledged[lines.Text()] = true
		}
		if n--; n == 0 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || ctx.Err() != nil || n > 0 {
		t.Fatalf("the writer ended by itself: %v", err)
	}
}

func expectWhole(t *testing.T, dir string, acknowledged map[string]bool) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
	err = s.View(t.Context(), func(r store.Reader) error {
		recorded := map[string]bool{}
		for link, err := range r.AuditLinks(0) {
			e, entryErr := link.Entry()
			if err := errors.Join(err, entryErr); err != nil {
				return err
			}
			recorded[e.Subject] = true
		}
		for made := range acknowledged {
			if !recorded[made] {
				t.Errorf("%s was acknowledged and is lost", made)
			}
		}
		// Also what was not acknowledged is there as a whole or not at all.
		for made := range recorded {
			if _, err := r.Environment("org_1", made); err != nil {
				t.Errorf("%s has only its audit entry: %v", made, err)
			}
			if all, err := r.Standings(made); err != nil || all[made].Active == nil {
				t.Errorf("%s has no run: %v", made, err)
			}
		}
		n, err := r.CountUnfinishedRuns("org_1", setup.Manual)
		if n != len(recorded) {
			t.Errorf("%d runs, %d entries", n, len(recorded))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

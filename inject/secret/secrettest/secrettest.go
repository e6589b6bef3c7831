// Package secrettest is the suite that every secret source passes: what a
// resolver relies on, whatever stands behind the source.
package secrettest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/inject/secret"
)

// Fixture is a source under test and the ways to change what stands behind it.
type Fixture struct {
	Source secret.Source
	// Names are two names in the source's own naming, neither of them set.
	Names [2]string
	// Malformed are names that the source can't have; optional.
	Malformed []string
	// Set stores a value under a name, as its operator would.
	Set func(t *testing.T, name string, value string)
	// Remove takes a secret away.
	Remove func(t *testing.T, name string)
}

// canary is a value that no error may quote.
const canary = "c4nary-Zq81"

// Run runs the suite; open makes a fresh Fixture for each test.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	t.Run("present", func(t *testing.T) { present(t, open(t)) })
	t.Run("missing", func(t *testing.T) { missing(t, open(t)) })
	t.Run("malformed", func(t *testing.T) { malformed(t, open(t)) })
	t.Run("rotation", func(t *testing.T) { rotation(t, open(t)) })
	t.Run("removal", func(t *testing.T) { removal(t, open(t)) })
	t.Run("cancelled", func(t *testing.T) { cancelled(t, open(t)) })
	t.Run("concurrent", func(t *testing.T) { concurrent(t, open(t)) })
	t.Run("keeping", func(t *testing.T) { keeping(t, open(t)) })
}

// keeping is for sources that take new values: what is kept is read, what isn't
// there can't be kept, and asking whether it could changes nothing.
func keeping(t *testing.T, f Fixture) {
	keeper, ok := f.Source.(secret.Keeper)
	if !ok {
		return
	}
	requireError(t, keeper.CanKeep(t.Context(), f.Names[0]), secret.ErrNotFound)
	f.Set(t, f.Names[0], canary+"-1")
	before := mustRead(t, f, f.Names[0])
	if err := keeper.CanKeep(t.Context(), f.Names[0]); err != nil {
		t.Errorf("can't keep: %v", err)
	}
	if after := mustRead(t, f, f.Names[0]); after.Version != before.Version {
		t.Error("asking whether a value could be kept changed the version")
	}
	if err := keeper.Keep(t.Context(), f.Names[0], []byte(canary+"-2")); err != nil {
		t.Fatalf("keep: %v", err)
	}
	if got := mustRead(t, f, f.Names[0]); string(got.Value.Reveal()) != canary+"-2" || got.Version == before.Version {
		t.Error("a value that was kept isn't the next version")
	}
}

func present(t *testing.T, f Fixture) {
	for _, value := range []string{canary, "x", " inner space ", "päss", strings.Repeat("k", secret.MaxValue)} {
		f.Set(t, f.Names[0], value)
		got := mustRead(t, f, f.Names[0])
		if string(got.Value.Reveal()) != value {
			t.Errorf("got a value of %d bytes, want the one of %d that was set", len(got.Value.Reveal()), len(value))
		}
		if strings.Contains(got.Version, value) && len(value) > 1 {
			t.Error("the version holds the value")
		}
	}
}

func missing(t *testing.T, f Fixture) {
	f.Set(t, f.Names[0], canary)
	_, err := f.Source.Read(t.Context(), f.Names[1])
	requireError(t, err, secret.ErrNotFound)
	if !strings.Contains(err.Error(), f.Names[1]) {
		t.Errorf("error %q does not name the secret", err)
	}
}

func malformed(t *testing.T, f Fixture) {
	for _, name := range append(f.Malformed, "") {
		_, err := f.Source.Read(t.Context(), name)
		requireError(t, err, nil)
	}
}

func rotation(t *testing.T, f Fixture) {
	f.Set(t, f.Names[0], canary+"-1")
	f.Set(t, f.Names[1], canary+"-other")
	before := mustRead(t, f, f.Names[0])
	f.Set(t, f.Names[0], canary+"-2")
	after := mustRead(t, f, f.Names[0])
	if got := string(after.Value.Reveal()); got != canary+"-2" {
		t.Errorf("after rotation the source still has an older value")
	}
	if (before.Version == "") != (after.Version == "") || before.Version != "" && before.Version == after.Version {
		t.Errorf("version %q before rotation, %q after", before.Version, after.Version)
	}
	if got := string(before.Value.Reveal()); got != canary+"-1" {
		t.Error("rotation changed a value that had been read before")
	}
	if got := string(mustRead(t, f, f.Names[1]).Value.Reveal()); got != canary+"-other" {
		t.Error("rotation of one secret changed another")
	}
}

func removal(t *testing.T, f Fixture) {
	f.Set(t, f.Names[0], canary)
	f.Remove(t, f.Names[0])
	_, err := f.Source.Read(t.Context(), f.Names[0])
	requireError(t, err, secret.ErrNotFound)
	f.Set(t, f.Names[0], canary+"-again")
	if got := string(mustRead(t, f, f.Names[0]).Value.Reveal()); got != canary+"-again" {
		t.Error("a secret that was removed and set again has another value")
	}
}

func cancelled(t *testing.T, f Fixture) {
	f.Set(t, f.Names[0], canary)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.Source.Read(ctx, f.Names[0])
	requireError(t, err, secret.ErrUnavailable)
	ctx, cancel = context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	_, err = f.Source.Read(ctx, f.Names[0])
	requireError(t, err, secret.ErrUnavailable)
}

// concurrent reads while a writer rotates: each read is one of the values that
// were set, whole.
func concurrent(t *testing.T, f Fixture) {
	const readers, reads, writes = 4, 20, 10
	value := func(i int) string { return fmt.Sprintf("%s-%d-%s", canary, i, strings.Repeat("z", 100*i)) }
	valid := make(map[string]bool)
	for i := range writes {
		valid[value(i)] = true
	}
	f.Set(t, f.Names[0], value(0))
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for range reads {
				got, err := f.Source.Read(t.Context(), f.Names[0])
				if err != nil {
					t.Errorf("read beside a writer: %v", err)
					return
				}
				if !valid[string(got.Value.Reveal())] {
					t.Error("read beside a writer returned a torn value")
					return
				}
			}
		})
	}
	for i := range writes {
		f.Set(t, f.Names[0], value(i))
	}
	wg.Wait()
}

func mustRead(t *testing.T, f Fixture, name string) secret.Secret {
	t.Helper()
	got, err := f.Source.Read(t.Context(), name)
	if err != nil {
		t.Fatalf("read %q: %v", name, err)
	}
	return got
}

// requireError demands one of the three errors, or exactly want, and that it
// holds no value.
func requireError(t *testing.T, err, want error) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	matched := 0
	for _, known := range []error{secret.ErrNotFound, secret.ErrDenied, secret.ErrUnavailable} {
		if errors.Is(err, known) {
			matched++
		}
	}
	if matched != 1 || want != nil && !errors.Is(err, want) {
		t.Errorf("error %q: want %v, or exactly one of the three if nil", err, want)
	}
	if strings.Contains(err.Error(), canary) {
		t.Errorf("error holds the value")
	}
}

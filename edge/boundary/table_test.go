package boundary_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/inject"
)

func compile(t testing.TB, spec boundary.Spec) *boundary.Boundary {
	t.Helper()
	b, err := boundary.Compile(spec, inject.Key{1})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Ledger: ED-4, ED-27.
func TestZeroTableKnowsNobody(t *testing.T) {
	t.Parallel()
	var table boundary.Table
	if table.Get("a") != nil || table.Authenticate("a", "") != nil || table.Len() != 0 || table.Delete("a") {
		t.Error("a new table knows somebody")
	}
}

// Ledger: ED-2, ED-4.
func TestAuthenticate(t *testing.T) {
	t.Parallel()
	var table boundary.Table
	table.Put(compile(t, boundary.Spec{ID: "a", TokenSHA256: boundary.TokenDigest([]byte("token-of-a"))}))
	table.Put(compile(t, boundary.Spec{ID: "b", TokenSHA256: boundary.TokenDigest([]byte("token-of-b"))}))
	table.Put(compile(t, boundary.Spec{ID: "listener-only"}))
	cases := []struct {
		name, id, token string
		want            bool
	}{
		{"right token", "a", "token-of-a", true},
		{"token of another boundary", "a", "token-of-b", false},
		{"no token", "a", "", false},
		{"prefix of the token", "a", "token-of-", false},
		{"unknown boundary", "c", "token-of-a", false},
		{"no id", "", "token-of-a", false},
		{"boundary that has no token", "listener-only", "", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := table.Authenticate(c.id, c.token); (got != nil) != c.want {
				t.Errorf("Authenticate(%q, %q) = %v", c.id, c.token, got)
			}
		})
	}
}

// Ledger: ED-4: a token dies with its boundary.
func TestTokenDiesWithItsBoundary(t *testing.T) {
	t.Parallel()
	var table boundary.Table
	table.Put(compile(t, boundary.Spec{ID: "a", TokenSHA256: boundary.TokenDigest([]byte("secret"))}))
	table.Delete("a")
	if table.Authenticate("a", "secret") != nil {
		t.Error("the token of a closed boundary is accepted")
	}
}

// Ledger: ED-3.
func TestTokenExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var table boundary.Table
		table.Put(compile(t, boundary.Spec{
			ID:           "a",
			TokenSHA256:  boundary.TokenDigest([]byte("secret")),
			TokenExpires: time.Now().Add(24 * time.Hour),
		}))
		time.Sleep(24*time.Hour - time.Nanosecond)
		if table.Authenticate("a", "secret") == nil {
			t.Fatal("refused before it expires")
		}
		time.Sleep(time.Nanosecond)
		if table.Authenticate("a", "secret") != nil {
			t.Error("accepted after it has expired")
		}
	})
}

// Ledger: NP-28.
func TestReplacementIsAnnounced(t *testing.T) {
	t.Parallel()
	var table boundary.Table
	first := table.Put(compile(t, boundary.Spec{ID: "a"}))
	other := table.Put(compile(t, boundary.Spec{ID: "b"}))
	second := table.Put(compile(t, boundary.Spec{ID: "a"}))
	if !isClosed(first.Replaced()) {
		t.Error("the holder of the first generation isn't told")
	}
	if isClosed(second.Replaced()) || isClosed(other.Replaced()) {
		t.Error("a boundary that still holds is announced as replaced")
	}
	if second.Generation <= first.Generation {
		t.Errorf("generation went from %d to %d", first.Generation, second.Generation)
	}
	if got := table.Get("a"); got != second {
		t.Errorf("Get returns generation %d, want %d", got.Generation, second.Generation)
	}
	table.Delete("a")
	if !isClosed(second.Replaced()) {
		t.Error("the holder of a deleted boundary isn't told")
	}
}

func TestApplyIsOneStep(t *testing.T) {
	t.Parallel()
	var table boundary.Table
	table.Put(compile(t, boundary.Spec{ID: "old"}))
	stop := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if n := table.Len(); n != 1 {
					t.Errorf("a reader saw %d boundaries", n)
					return
				}
			}
		}
	})
	for range 1000 {
		table.Apply([]*boundary.Boundary{compile(t, boundary.Spec{ID: "new"})}, []string{"old"})
		table.Apply([]*boundary.Boundary{compile(t, boundary.Spec{ID: "old"})}, []string{"new"})
	}
	close(stop)
	readers.Wait()
}

func TestGetDoesNotAllocate(t *testing.T) {
	var table boundary.Table
	table.Put(compile(t, boundary.Spec{ID: "a"}))
	if n := testing.AllocsPerRun(100, func() { table.Get("a") }); n != 0 {
		t.Errorf("Get allocates %v times", n)
	}
}

func BenchmarkGet(b *testing.B) {
	var table boundary.Table
	for i := range 200 {
		table.Put(compile(b, boundary.Spec{ID: fmt.Sprintf("sandbox-%d", i)}))
	}
	b.ReportAllocs()
	for b.Loop() {
		table.Get("sandbox-77")
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	var table boundary.Table
	table.Put(compile(b, boundary.Spec{ID: "a", TokenSHA256: boundary.TokenDigest([]byte("secret"))}))
	b.ReportAllocs()
	for b.Loop() {
		table.Authenticate("a", "secret")
	}
}

// What belongs to one opening of an id ends with it, and not before.
func TestClosingIsAnnounced(t *testing.T) {
	t.Parallel()
	var table boundary.Table
	first := table.Put(compile(t, boundary.Spec{ID: "a"}))
	second := table.Put(compile(t, boundary.Spec{ID: "a"}))
	if first.Closed() != second.Closed() || isClosed(first.Closed()) {
		t.Error("a replacement counts as another opening")
	}
	table.Delete("a")
	third := table.Put(compile(t, boundary.Spec{ID: "a"}))
	if !isClosed(second.Closed()) || isClosed(third.Closed()) {
		t.Error("closing isn't told, or the next opening is closed")
	}
	table.Apply([]*boundary.Boundary{compile(t, boundary.Spec{ID: "a"})}, []string{"a"})
	if !isClosed(third.Closed()) || isClosed(table.Get("a").Closed()) {
		t.Error("closed and opened in one step: the old one isn't told, or the new one is closed")
	}
}

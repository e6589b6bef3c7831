package store_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/secret/secrettest"
	"github.com/sallyport/sallyport/inject/store"
)

const canary = "c4nary-Zq81-stored-value"

func put(t *testing.T, s *store.Store, name, value string) store.Info {
	t.Helper()
	info, err := s.Put(t.Context(), name, []byte(value))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func value(t *testing.T, s *store.Store, name string) string {
	t.Helper()
	got, err := s.Read(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return string(got.Value.Reveal())
}

func TestSource(t *testing.T) {
	t.Parallel()
	secrettest.Run(t, func(t *testing.T) secrettest.Fixture {
		s := store.New(filepath.Join(t.TempDir(), "not", "there", "yet"))
		return secrettest.Fixture{
			Source:    s,
			Names:     [2]string{"api-token", "API_TOKEN.v2"},
			Malformed: []string{"..", ".key", "a/b", "../a", "-a", "1a", "a b", "a\n", "a\x00", "ä", strings.Repeat("a", 129)},
			Set: func(t *testing.T, name, value string) {
				if _, err := s.Put(t.Context(), name, []byte(value)); err != nil {
					t.Error(err)
				}
			},
			Remove: func(t *testing.T, name string) {
				if err := s.Delete(t.Context(), name); err != nil {
					t.Error(err)
				}
			},
		}
	})
}

// Ledger: SI-14, SI-29
func TestPutRefuses(t *testing.T) {
	t.Parallel()
	s := store.New(t.TempDir())
	for _, name := range []string{"", ".", "..", "a/b", ".tmp", "-x", "9x", "x y", strings.Repeat("x", 129)} {
		if _, err := s.Put(t.Context(), name, []byte("v")); !errors.Is(err, store.ErrName) {
			t.Errorf("name %q: %v", name, err)
		}
		if err := s.Delete(t.Context(), name); !errors.Is(err, store.ErrName) {
			t.Errorf("delete %q: %v", name, err)
		}
	}
	for _, v := range []string{"", "a\nb", "a\r", "\x00", "a\x1bb", strings.Repeat("x", secret.MaxValue+1)} {
		var ve *secret.ValueError
		if _, err := s.Put(t.Context(), "n", []byte(v)); !errors.As(err, &ve) {
			t.Errorf("value of %d bytes: %v", len(v), err)
		}
	}
	if _, err := s.PutText(t.Context(), "n", []byte("a\x00b")); err == nil {
		t.Error("PutText took a NUL")
	}
	if list, err := s.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("after refusals: %v, %v", list, err)
	}
}

func TestPutTextKeepsLines(t *testing.T) {
	t.Parallel()
	s := store.New(t.TempDir())
	const pem = "-----BEGIN X-----\r\nabc\n-----END X-----\n"
	if _, err := s.PutText(t.Context(), "app-key", []byte(pem)); err != nil {
		t.Fatal(err)
	}
	if got := value(t, s, "app-key"); got != pem {
		t.Errorf("got %q", got)
	}
}

func TestVersionsOnlyGrow(t *testing.T) {
	t.Parallel()
	s := store.New(t.TempDir())
	start := time.Now().Add(-time.Minute)
	for i, want := range []string{"1", "2", "3"} {
		info := put(t, s, "a", strings.Repeat("x", i+1))
		if info.Name != "a" || info.Version != want || info.Created.Before(start) {
			t.Errorf("Put %d = %+v", i, info)
		}
	}
	if err := s.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "a"); !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("second Delete: %v", err)
	}
	if err := s.Delete(t.Context(), "never-there"); !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("Delete of nothing: %v", err)
	}
	put(t, s, "b", "x")
	list, err := s.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "b" {
		t.Errorf("List = %+v, %v", list, err)
	}
	if info := put(t, s, "a", "y"); info.Version != "5" {
		t.Errorf("Put after Delete has version %s, want 5", info.Version)
	}
}

// files returns every regular file below dir with its content.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	found := make(map[string][]byte)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		found[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Ledger: SI-24, SI-2
func TestFilesHoldNoPlaintext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := store.New(dir)
	put(t, s, "a", canary)
	put(t, s, "a", canary+"2")
	content := files(t, dir)
	if len(content) != 2 {
		t.Errorf("%d files, want the key and one version", len(content))
	}
	for path, b := range content {
		for _, form := range []string{canary, hex.EncodeToString([]byte(canary)), base64.StdEncoding.EncodeToString([]byte(canary))[:30]} {
			if bytes.Contains(b, []byte(form)) {
				t.Errorf("%s holds the value", path)
			}
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
		}
	}
	for _, sub := range []string{"secrets", "secrets/a"} {
		if info, err := os.Stat(filepath.Join(dir, sub)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", sub, info, err)
		}
	}
}

// A store without its key, with another, or with one that others can read
// shows nothing and says why.
func TestKeyTrouble(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		spoil func(t *testing.T, key string)
		hint  string
	}{
		{"missing", func(t *testing.T, key string) { must(t, os.Remove(key)) }, "open key"},
		{"readable by others", func(t *testing.T, key string) { must(t, os.Chmod(key, 0o640)) }, "want 0600"},
		{"garbage", func(t *testing.T, key string) { must(t, os.WriteFile(key, []byte("AGE-SECRET-KEY-1junk\n"), 0o600)) }, "age identity"},
		{"of another store", func(t *testing.T, key string) {
			dir := t.TempDir()
			put(t, store.New(dir), "x", "y")
			must(t, os.Rename(filepath.Join(dir, "secrets.key"), key))
		}, "decrypt version 1"},
	}
	for _, c := range cases {
		dir := t.TempDir()
		s := store.New(dir)
		put(t, s, "a", canary)
		c.spoil(t, filepath.Join(dir, "secrets.key"))
		_, err := s.Read(t.Context(), "a")
		if !errors.Is(err, secret.ErrUnavailable) || errors.Is(err, secret.ErrNotFound) || !strings.Contains(err.Error(), c.hint) {
			t.Errorf("%s: Read: %v", c.name, err)
		}
		if _, err := s.Put(t.Context(), "b", []byte("x")); err == nil && c.name != "of another store" {
			t.Errorf("%s: Put worked", c.name)
		}
		if list, err := s.List(t.Context()); err != nil || len(list) == 0 {
			t.Errorf("%s: List = %v, %v", c.name, list, err)
		}
	}
}

// Whoever can write to the state directory can put a key there that he knows.
func TestStateThatEveryoneMayWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := store.New(dir)
	must(t, os.Chmod(dir, 0o777|os.ModeSticky))
	if _, err := s.Put(t.Context(), "a", []byte(canary)); err == nil || !strings.Contains(err.Error(), "everyone may write") {
		t.Errorf("Put into an empty store: %v", err)
	}
	must(t, os.Chmod(dir, 0o700))
	put(t, s, "a", canary)
	must(t, os.Chmod(dir, 0o777|os.ModeSticky))
	if _, err := s.Put(t.Context(), "a", []byte(canary)); err == nil || !strings.Contains(err.Error(), "everyone may write") {
		t.Errorf("Put: %v", err)
	}
	if _, err := s.Read(t.Context(), "a"); !errors.Is(err, secret.ErrUnavailable) || !strings.Contains(err.Error(), "everyone may write") {
		t.Errorf("Read: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A file copied under another name or number doesn't pass for that secret.
func TestMisplacedFileIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := store.New(dir)
	put(t, s, "a", canary)
	put(t, s, "b", "other")
	b, err := os.ReadFile(filepath.Join(dir, "secrets/a/0000000001.age"))
	must(t, err)
	for _, path := range []string{"secrets/b/0000000001.age", "secrets/a/0000000002.age"} {
		must(t, os.WriteFile(filepath.Join(dir, path), b, 0o600))
	}
	for _, name := range []string{"a", "b"} {
		if _, err := s.Read(t.Context(), name); !errors.Is(err, secret.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "secrets/b/0000000003.age"), b[:len(b)-1], 0o600))
	if _, err := s.Read(t.Context(), "b"); !errors.Is(err, secret.ErrUnavailable) {
		t.Errorf("cut short: %v", err)
	}
}

// What an interrupted change leaves behind is not a version, and the next
// change clears it away.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := store.New(dir)
	put(t, s, "a", "first")
	old, err := os.ReadFile(filepath.Join(dir, "secrets/a/0000000001.age"))
	must(t, err)
	put(t, s, "a", "second")
	sub := filepath.Join(dir, "secrets/a")
	must(t, os.WriteFile(filepath.Join(sub, "0000000001.age"), old, 0o600)) // superseded, not yet removed
	must(t, os.WriteFile(filepath.Join(sub, ".tmp-123"), []byte("half"), 0o600))
	must(t, os.WriteFile(filepath.Join(sub, "README"), []byte("not ours"), 0o600))
	if got := value(t, s, "a"); got != "second" {
		t.Errorf("got %q", got)
	}
	put(t, s, "a", "third")
	var left []string
	for path := range files(t, sub) {
		left = append(left, filepath.Base(path))
	}
	if len(left) != 2 {
		t.Errorf("left: %v, want the version and what isn't ours", left)
	}
}

func TestRootKeepsTheOwnerOfTheState(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to give files away")
	}
	dir := t.TempDir()
	must(t, os.Chown(dir, 12345, 12346))
	put(t, store.New(dir), "a", "v")
	for _, path := range []string{"secrets", "secrets.key", "secrets/a", "secrets/a/0000000001.age"} {
		info, err := os.Stat(filepath.Join(dir, path))
		must(t, err)
		if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 12345 || stat.Gid != 12346 {
			t.Errorf("%s belongs to %d:%d", path, stat.Uid, stat.Gid)
		}
	}
}

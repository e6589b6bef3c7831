package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport/sallyport/inject/file"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/inject/secret/secrettest"
)

// replace writes a file as careful tools do: beside it, then renamed.
func replace(t *testing.T, name, content string) {
	t.Helper()
	tmp := name + ".tmp"
	if err := os.WriteFile(tmp, []byte(content), 0o600); err != nil {
		t.Error(err)
	}
	if err := os.Rename(tmp, name); err != nil {
		t.Error(err)
	}
}

func TestSource(t *testing.T) {
	t.Parallel()
	secrettest.Run(t, func(t *testing.T) secrettest.Fixture {
		dir := t.TempDir()
		return secrettest.Fixture{
			Source:    file.Source{},
			Names:     [2]string{filepath.Join(dir, "a"), filepath.Join(dir, "b")},
			Malformed: []string{"relative", "./a", dir, filepath.Join(dir, "a\x00b")},
			Set:       func(t *testing.T, name, value string) { replace(t, name, value) },
			Remove: func(t *testing.T, name string) {
				if err := os.Remove(name); err != nil {
					t.Error(err)
				}
			},
		}
	})
}

// Case: C14
func TestOneTrailingLineEndIsDropped(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "s")
	largest := strings.Repeat("x", secret.MaxValue)
	for content, want := range map[string]string{
		"k": "k", "k\n": "k", "k\r\n": "k", "k\n\n": "k\n", " k \n": " k ", "\ufeffk\n": "\ufeffk",
		largest + "\n": largest, largest + "\r\n": largest,
	} {
		replace(t, name, content)
		got, err := file.Source{}.Read(t.Context(), name)
		if err != nil || string(got.Value.Reveal()) != want {
			t.Errorf("%.10q: %v", content, err)
		}
	}
	for _, content := range []string{"", "\n", "\r\n", largest + "x", largest + "xx\n"} {
		replace(t, name, content)
		var ve *secret.ValueError
		if _, err := (file.Source{}).Read(t.Context(), name); !errors.As(err, &ve) {
			t.Errorf("%d bytes: %v", len(content), err)
		}
	}
}

func TestWhatIsNoSecretFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(dir, "open")
	replace(t, open, "k")
	if err := os.Chmod(open, 0o646); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		path string
		want error
	}{
		{pipe, secret.ErrUnavailable},
		{"/dev/zero", secret.ErrUnavailable},
		{dir, secret.ErrUnavailable},
		{open, secret.ErrUnavailable},
		{filepath.Join(open, "below"), secret.ErrNotFound},
		{filepath.Join(dir, "absent"), secret.ErrNotFound},
	}
	for _, c := range cases {
		if _, err := (file.Source{}).Read(t.Context(), c.path); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.path, err, c.want)
		}
	}
}

// Orchestrators mount secrets as links to files that everyone may read.
func TestMountedSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "..data"), filepath.Join(dir, "token")
	replace(t, target, "k")
	if err := os.Chmod(target, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	got, err := file.Source{}.Read(t.Context(), link)
	if err != nil || string(got.Value.Reveal()) != "k" {
		t.Error(err)
	}
}

// A binding can't have the reader's own keys sent anywhere, whatever leads to
// them.
func TestDeniedDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	for _, name := range []string{"state/authority", "beside"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"linked-dir": state, "linked-file": filepath.Join(state, "authority/key"), "linked-state": state} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"state/authority/key", "state/token", "beside/token", "state.token"} {
		replace(t, filepath.Join(dir, name), "content")
	}
	cases := []struct {
		name string
		want error
	}{
		{"state/authority/key", secret.ErrDenied},
		{"state/token", secret.ErrDenied},
		{"beside/../state/token", secret.ErrDenied},
		{"linked-dir/token", secret.ErrDenied},
		{"linked-file", secret.ErrDenied},
		{"beside/token", nil},
		{"state.token", nil},
	}
	for _, denied := range []string{state, filepath.Join(dir, "linked-state"), state + "/"} {
		s := file.Source{Deny: []string{denied, "/proc", filepath.Join(dir, "missing")}}
		for _, c := range cases {
			if _, err := s.Read(t.Context(), filepath.Join(dir, c.name)); !errors.Is(err, c.want) {
				t.Errorf("%s, %s denied: %v", c.name, denied, err)
			}
		}
		if _, err := s.Read(t.Context(), "/proc/self/status"); !errors.Is(err, secret.ErrDenied) {
			t.Errorf("process: %v", err)
		}
	}
}

func TestDeniedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own, beside, link := filepath.Join(dir, "own"), filepath.Join(dir, "own2"), filepath.Join(dir, "link")
	replace(t, own, "content")
	replace(t, beside, "content")
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	s := file.Source{Deny: []string{own}}
	for name, want := range map[string]error{own: secret.ErrDenied, link: secret.ErrDenied, beside: nil} {
		if _, err := s.Read(t.Context(), name); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

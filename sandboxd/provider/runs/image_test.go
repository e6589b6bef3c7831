package runs_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/provider/runs"
)

// probe is a static program for images that have nothing else: the init, which
// says by its exit code that it was given no socket.
const probeCode = 1

// archive returns a tar file with the given entries.
func archive(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		body := h.PAXRecords["body"]
		h.PAXRecords = nil
		h.Size = int64(len(body))
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func body(s string) map[string]string { return map[string]string{"body": s} }

func write(t testing.TB, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func program(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile(initProgram)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTarImage(t *testing.T) {
	p, state := providerIn(t)
	plain := archive(t,
		tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755},
		tar.Header{Name: "bin/probe", Mode: 0o755, PAXRecords: body(program(t))},
		tar.Header{Name: "bin/suid", Mode: 0o6755, PAXRecords: body("x")},
		tar.Header{Name: "bin/linked", Typeflag: tar.TypeLink, Linkname: "bin/probe"},
		tar.Header{Name: "sbin", Typeflag: tar.TypeSymlink, Linkname: "/bin"},
		tar.Header{Name: "home/old", Mode: 0o600, Uid: 1000, Gid: 1000, PAXRecords: body("old")},
		tar.Header{Name: "dev/sda", Typeflag: tar.TypeBlock, Devmajor: 8, Mode: 0o666},
		tar.Header{Name: "locked", Typeflag: tar.TypeDir, Mode: 0o555},
		tar.Header{Name: "locked/file", Mode: 0o444, PAXRecords: body("in a read-only directory")},
	)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(plain)
	_ = z.Close()
	for name, b := range map[string][]byte{"plain": plain, "gzip": packed.Bytes()} {
		t.Run(name, func(t *testing.T) {
			file := write(t, b)
			for range 2 { // the second time from what was unpacked
				sb, _ := newSandbox(t, p, func(s *runs.Spec) { s.Image = file })
				for _, path := range []string{"/bin/probe", "/bin/linked", "/sbin/probe", "probe"} {
					if _, exit := output(t, sb, runs.Exec{Argv: []string{path}}); exit.Code != probeCode {
						t.Errorf("%s: %+v", path, exit)
					}
				}
			}
		})
	}
	images, err := filepath.Glob(filepath.Join(state, "images", "*", "bin", "suid"))
	if err != nil || len(images) != 2 {
		t.Fatalf("%v %v", images, err)
	}
	dir := filepath.Dir(filepath.Dir(images[0]))
	if st, err := os.Stat(images[0]); err != nil || st.Mode() != 0o755 {
		t.Errorf("a set-user-ID bit was kept: %v %v", st.Mode(), err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "dev", "sda")); err == nil {
		t.Error("a device was made")
	}
	if st, err := os.Stat(filepath.Join(dir, "home", "old")); err != nil || st.Sys().(*syscall.Stat_t).Uid != 1000 {
		t.Errorf("owner: %+v %v", st, err)
	}
	if st, err := os.Stat(filepath.Join(dir, "locked")); err != nil || st.Mode().Perm() != 0o555 {
		t.Errorf("mode of a directory: %v %v", st, err)
	}
}

// An archive can't write outside of where it is unpacked.
func TestHostileArchives(t *testing.T) {
	p, state := providerIn(t)
	outside := t.TempDir()
	link := func(name, target string) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}
	}
	file := func(name string) tar.Header { return tar.Header{Name: name, Mode: 0o644, PAXRecords: body("evil")} }
	up := strings.Repeat("../", 20)
	cases := []struct {
		name    string
		entries []tar.Header
	}{
		{"through an absolute link", []tar.Header{link("d", outside), file("d/evil")}},
		{"through a relative link", []tar.Header{link("d", up+outside), file("d/evil")}},
		{"through two links", []tar.Header{link("a", "."), link("b", "a/"+up+outside), file("b/evil")}},
		{"over a link", []tar.Header{link("f", outside+"/evil"), file("f")}},
		{"a hard link to a link", []tar.Header{link("s", outside+"/evil"), {Name: "h", Typeflag: tar.TypeLink, Linkname: "s"}, file("h")}},
		{"a hard link out", []tar.Header{{Name: "h", Typeflag: tar.TypeLink, Linkname: up + "etc/passwd"}}},
		{"by name", []tar.Header{file(up + outside + "/evil")}},
		{"by absolute name", []tar.Header{file(outside + "/evil")}},
		{"the root as a link", []tar.Header{link(".", outside), file("evil")}},
		{"a foreign owner", []tar.Header{{Name: "x", Uid: 70000, Mode: 0o644}}},
		{"layers", []tar.Header{file("manifest.json")}},
	}
	before := tree(t, filepath.Join(state, "images"))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n, err := p.Network(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = n.Close() }()
			// Whether it is refused or lands inside is up to the archive.
			sb, err := p.Start(t.Context(), runs.Spec{ID: "hostile", Network: n, Image: write(t, archive(t, c.entries...))})
			if err == nil {
				if err := sb.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if left := tree(t, outside); len(left) > 1 {
				t.Errorf("wrote outside: %v", left)
			}
			for path := range tree(t, filepath.Join(state, "images")) {
				if strings.Contains(path, "partial") && before[path] == "" {
					t.Errorf("left behind: %s", path)
				}
			}
		})
	}
}

func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			found[path] = d.Type().String()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// FuzzUnpack: no archive writes outside of the directory.
func FuzzUnpack(f *testing.F) {
	f.Add(archive(f, tar.Header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "/"}, tar.Header{Name: "a/evil", PAXRecords: body("x")}))
	f.Add(archive(f, tar.Header{Name: "../evil", Mode: 0o644, PAXRecords: body("x")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		top := t.TempDir()
		dir := filepath.Join(top, "in")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		_ = runs.Unpack(bytes.NewReader(b), dir)
		if entries, err := os.ReadDir(top); err != nil || len(entries) != 1 {
			t.Errorf("%v %v", entries, err)
		}
	})
}

// A directory is a layer: what the sandbox writes isn't seen outside.
func TestDirectoryImage(t *testing.T) {
	dir := t.TempDir()
	if err := unpackFor(t, dir); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	p := newProvider(t)
	for range 2 {
		sb, _ := newSandbox(t, p, func(s *runs.Spec) {
			s.Image = dir
			s.Files = map[string]runs.File{"/etc/ssl/ca.pem": {Data: []byte("ca"), Mode: 0o644}}
		})
		if _, exit := output(t, sb, runs.Exec{Argv: []string{"/bin/probe"}}); exit.Code != probeCode {
			t.Errorf("%+v", exit)
		}
	}
	after := tree(t, dir)
	if len(after) != len(before) {
		t.Errorf("the image has changed: %v", after)
	}
}

func unpackFor(t testing.TB, dir string) error {
	t.Helper()
	return runs.Unpack(bytes.NewReader(archive(t,
		tar.Header{Name: "bin/probe", Mode: 0o755, PAXRecords: body(program(t))},
		// Links that would lead the init astray if it followed them outside.
		tar.Header{Name: "etc/resolv.conf", Typeflag: tar.TypeSymlink, Linkname: "/nowhere/resolv.conf"},
		tar.Header{Name: "tmp", Typeflag: tar.TypeSymlink, Linkname: "/var"},
		tar.Header{Name: "var", Typeflag: tar.TypeDir, Mode: 0o755},
	)), dir)
}

// An image can't have the sandbox's own mounts put elsewhere.
func TestImageWithLinksForMountPoints(t *testing.T) {
	p := newProvider(t)
	for _, name := range []string{"proc", "dev"} {
		dir := t.TempDir()
		if err := os.Symlink("/somewhere", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		n, err := p.Network(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if sb, err := p.Start(t.Context(), runs.Spec{ID: "links", Network: n, Image: dir}); err == nil {
			t.Errorf("/%s as a link was accepted", name)
			_ = sb.Stop(t.Context())
		}
		_ = n.Close()
	}
}

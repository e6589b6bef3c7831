package providertest

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/provider"
)

const diskBytes = 64 << 20

func withDisk(s *provider.Spec) { s.DiskBytes = diskBytes }

// Ledger: GR-10
func testDisk(t *testing.T, b *bench) {
	sb := b.start(t, func(s *provider.Spec) { s.DiskBytes = 32 << 20 })
	for _, path := range []string{"/workspace/big", "/home/user/big"} {
		r := sb.run(t, shell("head -c 100M /dev/zero >"+path+"; echo $?; rm "+path))
		if r.stdout != "1" || !strings.Contains(r.stderr, "No space left on device") {
			t.Errorf("%s: got %+v", path, r)
		}
	}
	// What was removed is free again.
	sb.sh(t, "head -c 10M /dev/zero >/workspace/fits")
}

func (b *bench) layers(t *testing.T) provider.Layers {
	t.Helper()
	l, ok := b.provider.(provider.Layers)
	if !ok {
		t.Fatal("has the capability capture but no layers")
	}
	return l
}

// keep captures a sandbox, keeps the layer and stops the sandbox.
func keep(t *testing.T, sb sandbox) provider.Layer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	w, err := sb.Capture(ctx)
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.Keep(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stop(t, sb)
	return l
}

func on(layers ...provider.Layer) func(*provider.Spec) {
	return func(s *provider.Spec) {
		for _, l := range layers {
			s.Image.Layers = append(slices.Clone(s.Image.Layers), l.Key)
		}
	}
}

// Ledger: IM-10
func testCapture(t *testing.T, b *bench)     { captured(t, b, nil) }
func testCaptureDisk(t *testing.T, b *bench) { captured(t, b, withDisk) }

func captured(t *testing.T, b *bench, change func(*provider.Spec)) {
	t.Helper()
	sb := b.start(t, func(s *provider.Spec) {
		s.Files = map[string]provider.File{"/opt/placed/file": {Data: []byte("secret"), Mode: 0o644}}
		if change != nil {
			change(s)
		}
	})
	sb.sh(t, `mkdir repo && echo code >repo/main && ln -s main repo/link && ln repo/main repo/hard && chmod 700 repo/main
		echo rc >~/.rc; echo tmp >/tmp/left; touch -d @1000000000 repo/main; sleep 1000 &`)
	w, err := sb.Capture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-sb.Done():
	default:
		t.Error("captured while it runs")
	}
	if text, err := fs.ReadFile(w.FS(), "workspace/repo/main"); err != nil || string(text) != "code\n" {
		t.Errorf("read %q, %v", text, err)
	}
	for _, path := range []string{"opt/placed/file", "etc/hosts", "etc/resolv.conf"} {
		if _, err := fs.Stat(w.FS(), path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	l, err := w.Keep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if l.Key == "" || l.SizeBytes <= 0 || l.SizeBytes > diskBytes/2 {
		t.Errorf("layer %+v", l)
	}
	stop(t, sb)

	for range 2 { // both at the same time
		next := b.start(t, func(s *provider.Spec) {
			on(l)(s)
			if change != nil {
				change(s)
			}
		})
		got := next.sh(t, `cat repo/main repo/link ~/.rc; stat -c '%U %a %h %Y' repo/main; stat -c %U ~ /workspace; ls /opt; echo more >>repo/main; cat /etc/hostname`)
		want := "code\ncode\nrc\nuser 700 2 1000000000\nuser\nuser\n" + next.ID()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func testCaptureOver(t *testing.T, b *bench) {
	sb := b.start(t, nil)
	sb.sh(t, "mkdir d && echo 1 >d/a && echo 1 >d/b && mkdir e && echo 1 >e/old && echo keep >kept")
	first := keep(t, sb)
	sb = b.start(t, on(first))
	sb.sh(t, "rm d/a && echo 2 >d/b && rm -r e && mkdir e && echo 2 >e/new && mv kept moved")
	second := keep(t, sb)
	if first.Key == second.Key {
		t.Error("one key for two layers")
	}
	sb = b.start(t, on(first, second))
	if got := sb.sh(t, "ls d e; cat d/b moved; ls"); got != "d:\nb\n\ne:\nnew\n2\nkeep\nd\ne\nmoved" {
		t.Errorf("got %q", got)
	}
	sb = b.start(t, on(first))
	if got := sb.sh(t, "cat d/* e/* kept"); got != "1\n1\n1\nkeep" {
		t.Errorf("the lower layer changed: %q", got)
	}
}

// A capture that isn't kept leaves nothing.
func testCaptureAlone(t *testing.T, b *bench) {
	sb := b.start(t, nil)
	sb.sh(t, "echo x >x")
	w, err := sb.Capture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sb.Exec(t.Context(), shell("true")); !errors.Is(err, provider.ErrStopped) {
		t.Errorf("exec: %v", err)
	}
	stop(t, sb)
	if _, err := w.Keep(t.Context()); err == nil {
		t.Error("kept what was removed")
	}
	if keys, err := b.layers(t).Layers(t.Context()); err != nil || len(keys) != 0 {
		t.Errorf("layers %v, %v", keys, err)
	}
}

func testLayers(t *testing.T, b *bench) {
	all := b.layers(t)
	imported := importLayer(t, all, "opt/imported", "text")
	again := importLayer(t, all, "opt/imported", "text")
	other := importLayer(t, all, "opt/imported", "other text")
	if imported.Key != again.Key || imported.Key == other.Key {
		t.Errorf("keys %s %s %s", imported.Key, again.Key, other.Key)
	}
	keys, err := all.Layers(t.Context())
	if err != nil || !slices.IsSorted(keys) || len(keys) != 2 {
		t.Errorf("layers %v, %v", keys, err)
	}
	sb := b.start(t, on(imported))
	if got := sb.sh(t, "cat /opt/imported"); got != "text" {
		t.Errorf("got %q", got)
	}
	if err := all.RemoveLayer(t.Context(), imported.Key); !errors.Is(err, provider.ErrLayerInUse) {
		t.Errorf("remove: %v", err)
	}
	if got := sb.sh(t, "cat /opt/imported"); got != "text" {
		t.Errorf("got %q", got)
	}
	stop(t, sb)
	for _, key := range []string{imported.Key, imported.Key, other.Key, "no-such-layer", "../x"} {
		if err := all.RemoveLayer(t.Context(), key); err != nil {
			t.Errorf("remove %s: %v", key, err)
		}
	}
	n, err := b.provider.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	for _, key := range []string{imported.Key, strings.Repeat("0", 64), "", "../x"} {
		_, err := b.provider.Start(t.Context(), provider.Spec{ID: newID(), Network: n,
			Image: provider.Image{Host: true, Layers: []string{key}}})
		if !errors.Is(err, provider.ErrLayerMissing) {
			t.Errorf("start on %q: %v", key, err)
		}
	}
}

func importLayer(t *testing.T, all provider.Layers, name, text string) provider.Layer {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := all.ImportLayer(t.Context(), &archive)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func TestDecompress(t *testing.T) {
	t.Parallel()
	const text = "one line\n"
	var zipped, z bytes.Buffer
	for out, w := range map[*bytes.Buffer]io.WriteCloser{&zipped: gzip.NewWriter(&zipped), &z: newZstd(t, &z)} {
		if _, err := io.WriteString(w, strings.Repeat(text, 1000)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil || out.Len() > 500 {
			t.Fatal(out.Len(), err)
		}
	}
	cases := []struct {
		name string
		log  []byte
		want int // bytes; -1 for an error
	}{
		{"plain", []byte(text), len(text)},
		{"empty", nil, 0},
		{"short", []byte("x"), 1},
		{"gzip", zipped.Bytes(), 1000 * len(text)},
		{"two files of gzip in one", bytes.Repeat(zipped.Bytes(), 2), 2000 * len(text)},
		{"zstd", z.Bytes(), 1000 * len(text)},
		{"torn gzip", zipped.Bytes()[:zipped.Len()-9], -1},
		{"torn zstd", z.Bytes()[:z.Len()-5], -1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := decompress(bytes.NewReader(c.log))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			n, err := io.Copy(io.Discard, r)
			if (err != nil) != (c.want < 0) || err == nil && n != int64(c.want) {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
}

func newZstd(t *testing.T, out io.Writer) io.WriteCloser {
	t.Helper()
	w, err := zstd.NewWriter(out)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestProgressLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &progress{out: &out, total: 4_000_000}
	p.add(1_000_000)
	if want := "[#######                       ]  25%  1.0 MB"; p.line() != want || !strings.Contains(out.String(), want) {
		t.Errorf("%q and %q", p.line(), out.String())
	}
	p.add(9_000_000) // a log that grows
	if want := "[##############################] 100%  10.0 MB"; p.line() != want {
		t.Errorf("%q", p.line())
	}
	p = newProgress(&out, nil)
	out.Reset()
	p.add(5)
	if p.clear(); out.Len() > 0 {
		t.Errorf("%q where there is no terminal", out.String())
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// readAudit calls read with each audit log in turn, uncompressed; "-" is the
// standard input. On a terminal it shows how far it is.
func readAudit(cmd *cobra.Command, files []string, read func(io.Reader) error) error {
	p := newProgress(cmd.ErrOrStderr(), files)
	defer p.clear()
	for _, file := range files {
		if err := readAuditFile(cmd, file, p, read); err != nil {
			return fmt.Errorf("%s: %w", policyName(file), err)
		}
	}
	return nil
}

func readAuditFile(cmd *cobra.Command, file string, p *progress, read func(io.Reader) error) error {
	in := cmd.InOrStdin()
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	plain, err := decompress(&meter{ctx: cmd.Context(), in: in, progress: p})
	if err != nil {
		return err
	}
	defer plain.Close()
	return read(plain)
}

// maxWindow bounds what a compressed log may ask for.
const maxWindow = 128 << 20

// decompress tells gzip and zstd by their first bytes (RFC 1952, RFC 8878).
func decompress(in io.Reader) (io.ReadCloser, error) {
	r := bufio.NewReaderSize(in, 1<<20)
	magic, err := r.Peek(4)
	if err != nil && len(magic) == 0 {
		return io.NopCloser(r), nil // empty, or an error that the reader repeats
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(r)
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return io.NopCloser(r), nil
}

// meter counts what is read and ends the reading with the command.
type meter struct {
	ctx      context.Context //nolint:containedctx // io.Reader has no other place for it
	in       io.Reader
	progress *progress
}

func (m *meter) Read(p []byte) (int, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := m.in.Read(p)
	m.progress.add(int64(n))
	return n, err
}

// progress is a line on a terminal; elsewhere it does nothing.
type progress struct {
	out   io.Writer // nil: no terminal
	total int64     // bytes; 0 if that isn't known
	done  int64
	next  time.Time
}

func newProgress(out io.Writer, files []string) *progress {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) { //nolint:gosec // a descriptor
		return &progress{}
	}
	p := &progress{out: out}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() {
			return &progress{out: out}
		}
		p.total += info.Size()
	}
	return p
}

func (p *progress) add(n int64) {
	p.done += n
	if p.out == nil || time.Now().Before(p.next) {
		return
	}
	p.next = time.Now().Add(200 * time.Millisecond)
	fmt.Fprintf(p.out, "\r%s\x1b[K", p.line())
}

// line draws how far the reading is.
func (p *progress) line() string {
	const width = 30
	read := fmt.Sprintf("%.1f MB", float64(p.done)/1e6)
	if p.total == 0 {
		return read
	}
	part := min(float64(p.done)/float64(p.total), 1)
	bar := bytes.Repeat([]byte{' '}, width)
	for i := range int(part * width) {
		bar[i] = '#'
	}
	return fmt.Sprintf("[%s] %3.0f%%  %s", bar, 100*part, read)
}

func (p *progress) clear() {
	if p.out != nil {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

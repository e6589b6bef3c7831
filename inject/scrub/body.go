package scrub

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/sallyport/sallyport/inject/scan"
)

const pieceSize = 32 << 10

var pieces = sync.Pool{New: func() any { b := make([]byte, pieceSize); return &b }}

var errClosed = errors.New("read response: body is closed")

// body is a response's body, scrubbed as it is read.
type body struct {
	resp   *http.Response // whose trailer is there once raw has ended
	raw    io.ReadCloser
	coding coding
	by     *scan.Replacer
	stream *scan.Stream

	started bool
	in      io.Reader // raw, decoded
	free    func()
	enc     encoder      // nil: not coded
	coded   bytes.Buffer // what enc has written
	piece   *[]byte      // for reading, from pieces; nil before and after
	clean   []byte       // for scrubbing
	out     []byte       // what may be read
	err     error        // comes after out
}

func (b *body) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if !b.started {
		b.started = true
		b.err = b.start()
	}
	for len(b.out) == 0 && b.err == nil {
		b.err = b.next()
	}
	if len(b.out) == 0 {
		return 0, b.err
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

// start opens the coding, which for some means to read its header.
func (b *body) start() error {
	b.in, b.free = b.raw, nothing
	b.piece = pieces.Get().(*[]byte)
	if b.coding.decode == nil {
		return nil
	}
	in, free, err := b.coding.decode(b.raw)
	if errors.Is(err, io.EOF) {
		b.end()
		return io.EOF // empty, without even a header
	}
	if err != nil {
		return fmt.Errorf("decode response: %w", err)
	}
	b.in, b.free = in, free
	if b.enc, err = b.coding.encode(&b.coded); err != nil {
		return fmt.Errorf("encode response: %w", err)
	}
	return nil
}

// next reads a piece and makes what is certain of it readable.
func (b *body) next() error {
	n, err := b.in.Read(*b.piece)
	b.clean = b.stream.Append(b.clean[:0], (*b.piece)[:n])
	last := errors.Is(err, io.EOF)
	if last {
		b.clean = b.stream.Close(b.clean)
		b.end()
	}
	if b.enc == nil {
		b.out = b.clean
		return err
	}
	if encErr := b.encode(last); encErr != nil {
		return encErr
	}
	return err
}

// encode compresses what is clean. A client sees each piece at once.
func (b *body) encode(last bool) error {
	b.coded.Reset()
	if len(b.clean) > 0 {
		if _, err := b.enc.Write(b.clean); err != nil {
			return fmt.Errorf("encode response: %w", err)
		}
	}
	var err error
	switch {
	case last:
		err = b.enc.Close()
	case len(b.clean) > 0:
		err = b.enc.Flush()
	}
	b.out = b.coded.Bytes()
	if err != nil {
		return fmt.Errorf("encode response: %w", err)
	}
	return nil
}

// end scrubs the trailer, which is complete once the body is.
func (b *body) end() { Header(b.resp.Trailer, b.by) }

// Close must not be called while Read is under way.
func (b *body) Close() error {
	if b.piece != nil {
		pieces.Put(b.piece)
		b.piece = nil
	}
	b.err = cmp.Or(b.err, errClosed)
	if b.free != nil {
		b.free()
		b.free = nil
	}
	return b.raw.Close()
}

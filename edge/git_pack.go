package edge

import (
	"errors"
	"io"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/sallyport/sallyport/edge/gitwire"
)

var errPushRefused = errors.New("push refused")

// pushBody is the body of a push on its way to the forge. The pack is passed on
// as it comes, but for the bytes that haven't been looked at: so its end, without
// which a forge does nothing of a push, never passes before the verdict.
type pushBody struct {
	x      *gitCrossing
	client io.Closer
	proofs []gitwire.Command // that the pack has to show
	limit  int64             // of the pack; 0: none

	refused atomic.Bool
	over    atomic.Bool // closed

	pack io.Reader

	mu    sync.Mutex                   // guards what follows
	next  func() ([]byte, error, bool) // nil before the first Read
	stop  func()
	piece []byte
	err   error
}

// pieces yields what may pass. A piece is valid until the next one.
func (b *pushBody) pieces() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if !yield(b.x.push.Head, nil) {
			return
		}
		in := &packSource{r: b.pack, yield: yield, limit: b.limit}
		if len(b.proofs) > 0 {
			shown, err := gitwire.ReadPack(in, b.x.push.SHA256)
			if err == nil {
				b.x.prove(shown, b.proofs)
			} else if in.err == nil || errors.Is(in.err, io.EOF) {
				b.x.reason = "the pack can't be read, so not be shown to be a fast-forward"
			}
		}
		if b.x.reason == "" {
			in.rest()
		}
		switch {
		case errors.Is(in.err, errTooLarge):
			b.x.tooLarge(b.limit)
		case b.x.reason == "" && in.err != nil && !errors.Is(in.err, io.EOF) && !errors.Is(in.err, errStopped):
			yield(nil, in.err)
			return
		}
		if b.x.reason != "" {
			b.refused.Store(true)
			yield(nil, errPushRefused)
		}
	}
}

// Read implements io.Reader.
func (b *pushBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.release()
	if b.next == nil {
		b.next, b.stop = iter.Pull2(b.pieces())
	}
	for len(b.piece) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		piece, err, more := b.next()
		switch {
		case !more:
			b.err = io.EOF
		case err != nil:
			b.err = err
		default:
			b.piece = piece
		}
	}
	n := copy(p, b.piece)
	b.piece = b.piece[n:]
	return n, nil
}

// Close implements io.Closer. It doesn't wait for a Read, which may wait for
// the client.
func (b *pushBody) Close() error {
	b.over.Store(true)
	if b.mu.TryLock() {
		b.release()
	}
	if b.refused.Load() {
		return nil // what is left is read before the client is told
	}
	return b.client.Close()
}

// release gives up the lock; after Close, whoever has it last stops the pieces.
func (b *pushBody) release() {
	for {
		closed := b.over.Load()
		if closed {
			b.end()
		}
		b.mu.Unlock()
		if closed || !b.over.Load() || !b.mu.TryLock() {
			return
		}
	}
}

// end stops the pieces for good.
func (b *pushBody) end() {
	if b.stop != nil {
		b.stop()
	}
	b.piece, b.err = nil, errStopped
	b.next = func() ([]byte, error, bool) { return nil, nil, false }
}

var (
	errTooLarge = errors.New("pack beyond its limit")
	errStopped  = errors.New("nobody reads the push any more")
)

// packSource reads a pack piece by piece; each piece passes once the next one is
// needed.
type packSource struct {
	r     io.Reader
	yield func([]byte, error) bool
	limit int64
	total int64
	buf   [32 << 10]byte
	from  int // not yet read
	to    int
	err   error
}

// Read implements io.Reader.
func (s *packSource) Read(p []byte) (int, error) {
	if s.from == s.to && !s.fill() {
		return 0, s.err
	}
	n := copy(p, s.buf[s.from:s.to])
	s.from += n
	return n, nil
}

// ReadByte implements io.ByteReader.
func (s *packSource) ReadByte() (byte, error) {
	if s.from == s.to && !s.fill() {
		return 0, s.err
	}
	s.from++
	return s.buf[s.from-1], nil
}

// fill passes on what has been read and reads more.
func (s *packSource) fill() bool {
	if s.err == nil && s.to > 0 && !s.yield(s.buf[:s.to], nil) {
		s.err = errStopped
	}
	if s.err != nil {
		return false
	}
	s.from, s.to = 0, 0
	for s.to == 0 && s.err == nil {
		s.to, s.err = s.r.Read(s.buf[:])
	}
	if s.total += int64(s.to); s.limit > 0 && s.total > s.limit {
		s.to, s.err = 0, errTooLarge
	}
	if s.to > 0 && errors.Is(s.err, io.EOF) {
		s.err = nil // comes again
	}
	return s.to > 0
}

// rest passes on everything that follows.
func (s *packSource) rest() {
	for s.from = s.to; s.fill(); {
		s.from = s.to
	}
}

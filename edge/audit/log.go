package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// maxPending is how many bytes of accepted records may wait for the file
// before Record waits itself.
const maxPending = 4 << 20

// retryEvery is how long the writer waits after a failed write.
const retryEvery = time.Second

// ErrClosed is returned for a Log that has been closed.
var ErrClosed = errors.New("audit log closed")

// Log is a [Sink] that writes each record as one JSON line. Record encodes
// the line and leaves it to one writing goroutine, which writes all that has
// gathered at once; a full buffer makes Record wait. A write that fails is
// tried again until it succeeds or the Log is closed.
type Log struct {
	path string // "" for a Log that can't be reopened
	done chan struct{}
	stop chan struct{} // closed by Close: no waiting between retries

	outMu sync.Mutex // guards out; held while writing; taken without mu
	out   io.WriteCloser

	mu       sync.Mutex // guards what follows
	work     sync.Cond  // pending has grown, or closed
	progress sync.Cond  // written has grown, err has changed, or closed
	pending  []byte
	accepted int64 // bytes
	written  int64 // bytes
	err      error // of the last write; nil once one has succeeded
	lost     int   // records that came after Close
	closed   bool
}

// Open returns a Log that appends to the file at path, made with mode 0600 if
// it doesn't exist. "-" is standard error. Close it last.
func Open(path string) (*Log, error) {
	if path == "-" {
		return New(keepOpen{os.Stderr}), nil
	}
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	l := newLog(f)
	l.path = path
	go l.write()
	return l, nil
}

// New returns a Log that writes to out and closes it in the end.
func New(out io.WriteCloser) *Log {
	l := newLog(out)
	go l.write()
	return l
}

func newLog(out io.WriteCloser) *Log {
	l := &Log{out: out, done: make(chan struct{}), stop: make(chan struct{})}
	l.work.L, l.progress.L = &l.mu, &l.mu
	return l
}

func openFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open audit log: %w", err)
	}
	return f, nil
}

// Record accepts r, and waits while the buffer is full. A zero Time becomes
// now. A record after Close is counted as lost (see [Log.Close]).
func (l *Log) Record(r Record) {
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	r = r.cleaned()
	r.Time = r.Time.UTC()
	line := lines.Get().(*bytes.Buffer)
	defer lines.Put(line)
	line.Reset()
	enc := json.NewEncoder(line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		// Only a year past 9999 gets here: the record matters more than its time.
		r.Time = time.Time{}
		line.Reset()
		_ = enc.Encode(r)
	}
	l.accept(line.Bytes())
}

var _ Sink = (*Log)(nil)

var lines = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func (l *Log) accept(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.pending) >= maxPending && !l.closed {
		l.progress.Wait()
	}
	if l.closed {
		l.lost++
		return
	}
	l.pending = append(l.pending, line...)
	l.accepted += int64(len(line))
	l.work.Signal()
}

// write moves pending to out until the Log is closed and empty.
func (l *Log) write() {
	defer close(l.done)
	var batch []byte // being written; swapped with pending, so nothing is copied
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		for len(l.pending) == 0 && !l.closed {
			l.work.Wait()
		}
		if len(l.pending) == 0 {
			return
		}
		batch, l.pending = l.pending, batch[:0]
		for rest := batch; len(rest) > 0; {
			last := l.closed // nothing is waited for any more
			rest = rest[l.writeOnce(rest):]
			if l.err != nil && last {
				return
			}
		}
		if cap(batch) > maxPending {
			batch = nil // one burst shall not be kept for ever
		}
	}
}

// writeOnce writes what it can of b, with mu unlocked meanwhile, and waits a
// while if that failed.
func (l *Log) writeOnce(b []byte) int {
	l.mu.Unlock()
	l.outMu.Lock()
	n, err := l.out.Write(b)
	l.outMu.Unlock()
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	l.mu.Lock()
	l.written += int64(n)
	l.err = err
	l.progress.Broadcast()
	if err == nil || l.closed {
		return n
	}
	l.mu.Unlock()
	select {
	case <-time.After(retryEvery):
	case <-l.stop:
	}
	l.mu.Lock()
	return n
}

// Err returns why the last write failed, or nil: what a health check asks.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Flush waits until every record accepted before the call has been given to
// the operating system. It returns the error of a write that failed meanwhile;
// the records then still wait.
func (l *Log) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	target := l.accepted
	for l.written < target && l.err == nil && !l.closed {
		l.progress.Wait()
	}
	if l.written >= target {
		return nil
	}
	if l.err != nil {
		return fmt.Errorf("write audit log: %w", l.err)
	}
	return ErrClosed
}

// Reopen opens the path again, for rotation. Once it has returned, nothing
// more is written to the old file; what was pending goes to the new one. It
// does nothing for a Log without a path, and must not be called after Close.
func (l *Log) Reopen() error {
	if l.path == "" {
		return nil
	}
	f, err := openFile(l.path)
	if err != nil {
		return err
	}
	l.outMu.Lock()
	old := l.out
	l.out = f
	l.outMu.Unlock()
	if err := old.Close(); err != nil {
		return fmt.Errorf("close rotated audit log: %w", err)
	}
	return nil
}

// Close writes what is pending and closes the output. It returns an error that
// says so if records were lost: because the last write failed, or because they
// came too late. Closing again only reports that.
func (l *Log) Close() error {
	l.mu.Lock()
	first := !l.closed
	if first {
		l.closed = true
		close(l.stop)
	}
	l.work.Broadcast()
	l.progress.Broadcast()
	l.mu.Unlock()
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	if left := l.accepted - l.written; left > 0 {
		errs = append(errs, fmt.Errorf("write audit log: %d bytes lost: %w", left, l.err))
	}
	if l.lost > 0 {
		errs = append(errs, fmt.Errorf("write audit log: %d records lost: %w", l.lost, ErrClosed))
	}
	if first {
		l.outMu.Lock()
		errs = append(errs, l.out.Close())
		l.outMu.Unlock()
	}
	return errors.Join(errs...)
}

// keepOpen is an output that isn't ours to close.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

package setup

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// The log of a run is a file of records, one a line, in the order of Seq: the
// stream and the line of the script, the milliseconds since the record before
// (since 1970 for the first), the length of the text and the text, all but the
// text as varints. What a crash left unfinished at its end isn't read.

// streams are the streams by what a record has for them.
var streams = []Stream{Stdout, Stderr, Marker, System}

// maxText is the longest text of a line.
const maxText = 64 << 10

func logPath(dir, id string) string { return filepath.Join(dir, id+".log") }

// appendRecord appends a line as a record; last is the time of the one before.
func appendRecord(b []byte, l Line, last time.Time) []byte {
	b = binary.AppendUvarint(b, uint64(slices.Index(streams, l.Stream))) //nolint:gosec // of a few
	b = binary.AppendUvarint(b, uint64(l.Line))                          //nolint:gosec // not negative
	since := l.At.UnixMilli()
	if !last.IsZero() {
		since -= last.UnixMilli()
	}
	b = binary.AppendVarint(b, since)
	b = binary.AppendUvarint(b, uint64(len(l.Text)))
	return append(b, l.Text...)
}

// logReader reads logs. It remembers where pages ended: the next one begins
// there. It is safe for concurrent use.
type logReader struct {
	dir string

	mu   sync.Mutex
	ends map[string]position // by run id; of a few
}

// position is a place in a log, behind the line seq.
type position struct {
	offset, seq, millis int64
}

// maxEnds is how many logs are remembered.
const maxEnds = 256

// read returns at most limit lines of a run's log after the one of seq after. A
// run without a log has no lines.
func (l *logReader) read(id string, after int64, limit int) ([]Line, error) {
	f, err := os.Open(logPath(l.dir, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	defer func() { _ = f.Close() }()
	begin := l.before(id, after)
	if _, err := f.Seek(begin.offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	r := recordReader{r: bufio.NewReaderSize(f, 64<<10), at: begin}
	var lines []Line
	for len(lines) < limit {
		line, err := r.next(after)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break // there is no more yet
		}
		if err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		if line.Seq > after {
			lines = append(lines, line)
		}
	}
	if len(lines) > 0 {
		l.remember(id, r.at)
	}
	return lines, nil
}

// before returns the remembered place, if that isn't behind the line of seq
// after, else the beginning.
func (l *logReader) before(id string, after int64) position {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.ends[id]; p.seq <= after {
		return p
	}
	return position{}
}

func (l *logReader) remember(id string, p position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ends == nil || len(l.ends) >= maxEnds {
		l.ends = make(map[string]position)
	}
	l.ends[id] = p
}

func (l *logReader) forget(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.ends, id)
}

// recordReader reads records. Its position is behind the last whole one.
type recordReader struct {
	r  *bufio.Reader
	at position
}

// next returns the next line, without its text if it isn't after a seq.
func (r *recordReader) next(after int64) (Line, error) {
	head, size, err := r.head()
	if err != nil {
		return Line{}, err
	}
	stream, line, since, length := head[0], head[1], int64(head[2]>>1)^-int64(head[2]&1), head[3] //nolint:gosec // zigzag
	if stream >= uint64(len(streams)) || length > maxText || line > 1<<31 {
		return Line{}, errors.New("not a log")
	}
	next := position{r.at.offset + size + int64(length), r.at.seq + 1, r.at.millis + since}
	l := Line{Seq: next.seq, Stream: streams[stream], Line: int(line), At: time.UnixMilli(next.millis).UTC()}
	if l.Seq <= after {
		_, err = r.r.Discard(int(length))
	} else {
		text := make([]byte, length)
		_, err = io.ReadFull(r.r, text)
		l.Text = string(text)
	}
	if err != nil {
		return Line{}, unfinished(err)
	}
	r.at = next
	return l, nil
}

// head reads what comes before the text, and how long that was.
func (r *recordReader) head() (head [4]uint64, size int64, err error) {
	for i := range head {
		v, err := binary.ReadUvarint(r.r)
		if err != nil {
			if i == 0 {
				return head, 0, err
			}
			return head, 0, unfinished(err)
		}
		head[i] = v
		size += int64(uvarintLen(v))
	}
	return head, size, nil
}

func uvarintLen(v uint64) int {
	return len(binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen64), v))
}

func unfinished(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

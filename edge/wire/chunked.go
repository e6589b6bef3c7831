package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/textproto"
)

const (
	// maxChunkLine bounds a chunk-size line with its extensions.
	maxChunkLine = 256
	// maxTrailer bounds a trailer section in bytes.
	maxTrailer = 8 << 10
)

// chunkedReader decodes a chunked body strictly: every line ends in CRLF, sizes
// are plain hexadecimal, extensions hold no control bytes, and the trailer
// section obeys the rules of a head (RFC 9112 §7.1).
type chunkedReader struct {
	br *bufio.Reader
	// trailer receives the fields that the head announced, or all of them;
	// others are dropped.
	trailer http.Header
	all     bool

	left    int64 // of the current chunk
	started bool
	err     error
}

func (c *chunkedReader) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if c.left == 0 {
		if c.err = c.next(); c.err != nil {
			return 0, c.err
		}
	}
	n, err := c.br.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if err != nil {
		c.err = unexpected(err)
	}
	return n, c.err
}

// next moves to the next chunk, or through the trailer section to io.EOF.
func (c *chunkedReader) next() error {
	if c.started {
		if err := c.expectCRLF(); err != nil {
			return err
		}
	}
	c.started = true
	line, err := c.line(maxChunkLine)
	if err != nil {
		return err
	}
	size, ok := parseChunkSize(line)
	if !ok {
		return reject(http.StatusBadRequest, "malformed chunk size")
	}
	if c.left = size; size > 0 {
		return nil
	}
	return c.readTrailer()
}

func (c *chunkedReader) expectCRLF() error {
	var crlf [2]byte
	if _, err := io.ReadFull(c.br, crlf[:]); err != nil {
		return unexpected(err)
	}
	if crlf != [2]byte{'\r', '\n'} {
		return reject(http.StatusBadRequest, "chunk does not end in CRLF")
	}
	return nil
}

// line returns one line without its CRLF, valid until the next read.
func (c *chunkedReader) line(limit int) ([]byte, error) {
	raw, err := c.br.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) || len(raw) > limit {
		return nil, reject(http.StatusBadRequest, "line in chunked body is too long")
	}
	if err != nil {
		return nil, unexpected(err)
	}
	line, _, bad := cutLine(raw)
	if bad != nil {
		return nil, bad
	}
	return line, nil
}

func (c *chunkedReader) readTrailer() error {
	for total := 0; ; {
		line, err := c.line(maxTrailer)
		if err != nil {
			return err
		}
		if len(line) == 0 {
			return io.EOF
		}
		if total += len(line); total > maxTrailer {
			return reject(http.StatusBadRequest, "trailer section is too large")
		}
		name, value, ok := bytes.Cut(line, []byte{':'})
		if !ok || !isToken(name) {
			return reject(http.StatusBadRequest, "malformed trailer line")
		}
		key := textproto.CanonicalMIMEHeaderKey(string(name))
		if _, announced := c.trailer[key]; announced || c.all && !unsentRequest[key] {
			c.trailer[key] = append(c.trailer[key], string(bytes.Trim(value, " \t")))
		}
	}
}

// parseChunkSize reads the size before any chunk extension.
func parseChunkSize(line []byte) (int64, bool) {
	const maxDigits = 15 // stays far below the sign bit
	digits, _, _ := bytes.Cut(line, []byte{';'})
	digits = bytes.TrimRight(digits, " \t")
	if len(digits) == 0 || len(digits) > maxDigits {
		return 0, false
	}
	var n int64
	for _, c := range digits {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | int64(c-'0')
		case 'a' <= c && c <= 'f':
			n = n<<4 | int64(c-'a'+10)
		case 'A' <= c && c <= 'F':
			n = n<<4 | int64(c-'A'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

// unexpected makes an early end of the connection unmistakable: to whoever
// forwards a body, io.EOF means that it is complete.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

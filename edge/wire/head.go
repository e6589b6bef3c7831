package wire

import (
	"bufio"
	"errors"
	"net/http"
)

// maxFields bounds the fields of one head: each costs the handler map entries
// and allocations, whatever their size.
const maxFields = 512

// readHead appends one request head to buf, through the empty line that ends
// it. It never reads past that line's LF, and stops at a malformed empty line
// too, so that check sees it. A head of more than limit bytes is an *Error.
func readHead(br *bufio.Reader, buf []byte, limit int) ([]byte, error) {
	lineStart := len(buf)
	for {
		part, err := br.ReadSlice('\n')
		if len(buf)+len(part) > limit {
			return buf, reject(http.StatusRequestHeaderFieldsTooLarge, "head is too large")
		}
		buf = append(buf, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return buf, err
		}
		if isEmptyLine(buf[lineStart:]) {
			return buf, nil
		}
		lineStart = len(buf)
	}
}

func isEmptyLine(line []byte) bool {
	return len(line) == 1 || len(line) == 2 && line[0] == '\r'
}

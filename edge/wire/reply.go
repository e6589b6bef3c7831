package wire

import (
	"bufio"
	"bytes"
	"net/http"
	"strconv"
)

// replyHead is what the strict check found in the head of a response.
type replyHead struct {
	status  int
	http10  bool
	framing framing
	length  bool // there is a Content-Length

	fields, lengths, encodings int
}

// checkReply reads the raw head of a response and refuses whatever has more
// than one reading: what follows on the connection would be taken for the answer
// to the next request (RFC 9112 §6.3, §11.2).
func checkReply(raw []byte) (*replyHead, *Error) {
	h := &replyHead{}
	line, rest, err := cutLine(raw)
	if err != nil {
		return nil, err
	}
	if err := h.statusLine(line); err != nil {
		return nil, err
	}
	for {
		if line, rest, err = cutLine(rest); err != nil {
			return nil, err
		}
		if len(line) == 0 {
			break
		}
		if err := h.field(line); err != nil {
			return nil, err
		}
	}
	if len(rest) != 0 {
		return nil, badReply("bytes after the head")
	}
	return h, h.complete()
}

func badReply(msg string) *Error { return reject(http.StatusBadGateway, msg) }

// statusLine accepts "HTTP/1.x NNN reason"; the reason and the space before it
// may be missing, which many origins get wrong and nobody misreads.
func (h *replyHead) statusLine(line []byte) *Error {
	const version = len("HTTP/1.1")
	if len(line) < version+len(" 200") || line[version] != ' ' {
		return badReply("malformed status line")
	}
	switch string(line[:version]) {
	case "HTTP/1.1":
	case "HTTP/1.0":
		h.http10 = true
	default:
		return badReply("malformed HTTP version")
	}
	code, rest := line[version+1:version+4], line[version+4:]
	for _, c := range code {
		if c < '0' || c > '9' {
			return badReply("malformed status code")
		}
		h.status = h.status*10 + int(c-'0')
	}
	if h.status < 100 || len(rest) > 0 && rest[0] != ' ' {
		return badReply("malformed status code")
	}
	return nil
}

func (h *replyHead) field(line []byte) *Error {
	if h.fields++; h.fields > maxFields {
		return badReply("too many fields")
	}
	name, value, ok := bytes.Cut(line, []byte{':'})
	if !ok || !isToken(name) {
		return badReply("malformed field line") // obs-fold ends here too
	}
	value = bytes.Trim(value, " \t")
	switch {
	case is(name, "content-length"):
		h.lengths++
		length, ok := parseLength(value)
		if !ok {
			return badReply("malformed Content-Length")
		}
		h.framing.length, h.length = length, true
	case is(name, "transfer-encoding"):
		h.encodings++
		if !is(value, "chunked") {
			return badReply("transfer coding other than chunked")
		}
		h.framing.chunked = true
	}
	return nil
}

func (h *replyHead) complete() *Error {
	switch {
	case h.lengths > 1:
		return badReply("several Content-Length fields")
	case h.encodings > 1:
		return badReply("several Transfer-Encoding fields")
	case h.lengths > 0 && h.encodings > 0:
		return badReply("Content-Length with Transfer-Encoding")
	case h.encodings > 0 && h.http10:
		return badReply("Transfer-Encoding in HTTP/1.0")
	}
	return nil
}

// bodiless reports whether no body follows, whatever the fields say (RFC 9112
// §6.3).
func (h *replyHead) bodiless(method string) bool {
	return method == http.MethodHead || h.status < 200 || h.status == http.StatusNoContent || h.status == http.StatusNotModified
}

// parseReply lets net/http read a checked head. Both readings must agree on the
// framing; the body itself is read by this package.
func parseReply(raw []byte, h *replyHead, r *http.Request) (*http.Response, *Error) {
	br := headReaders.Get().(*bufio.Reader)
	src := headBytes.Get().(*bytes.Reader)
	src.Reset(raw)
	br.Reset(src)
	defer headReaders.Put(br)
	defer headBytes.Put(src)
	resp, err := http.ReadResponse(br, r)
	if err != nil {
		return nil, badReply("unparsable head")
	}
	resp.Body = http.NoBody // refers to br
	if resp.StatusCode != h.status || (len(resp.TransferEncoding) > 0) != (h.framing.chunked && !h.bodiless(r.Method)) {
		return nil, badReply("ambiguous framing")
	}
	switch {
	case h.bodiless(r.Method):
		return resp, nil
	case h.framing.chunked && resp.ContentLength != -1,
		h.length && strconv.FormatInt(resp.ContentLength, 10) != strconv.FormatInt(h.framing.length, 10):
		return nil, badReply("ambiguous framing")
	}
	return resp, nil
}

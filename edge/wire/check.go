package wire

import (
	"bytes"
	"net/http"
)

// framing is how a request's body ends. The zero value is "no body".
type framing struct {
	chunked bool
	length  int64
}

// head is what the strict check found in a raw head.
type head struct {
	method, target []byte
	host           []byte // value of the Host field
	http10         bool
	framing        framing
	expectContinue bool

	fields, hosts, lengths, encodings, expects, proxyAuths int
}

// checkHead reads a raw head and refuses whatever has more than one reading.
// proxy says that absolute-form targets and CONNECT are in place (RFC 9112
// §3.2); inside a tunnel an absolute-form target is left to the caller, who
// knows the authority it must agree with.
func checkHead(raw []byte, proxy bool) (*head, *Error) {
	h := &head{}
	line, rest, err := cutLine(raw)
	if err != nil {
		return nil, err
	}
	if err := h.requestLine(line, proxy); err != nil {
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
		return nil, reject(http.StatusBadRequest, "bytes after the head")
	}
	return h, h.complete()
}

// cutLine returns the bytes before the first CRLF and those after it. A CR or
// LF by itself, NUL and other control bytes are refused (RFC 9112 §2.2).
func cutLine(b []byte) (line, rest []byte, err *Error) {
	lf := bytes.IndexByte(b, '\n')
	if lf < 1 || b[lf-1] != '\r' {
		return nil, nil, reject(http.StatusBadRequest, "line does not end in CRLF")
	}
	line = b[:lf-1]
	for _, c := range line {
		if c < ' ' && c != '\t' || c == 0x7f {
			return nil, nil, reject(http.StatusBadRequest, "control byte in head")
		}
	}
	return line, b[lf+1:], nil
}

func (h *head) requestLine(line []byte, proxy bool) *Error {
	method, rest, ok := bytes.Cut(line, []byte{' '})
	if !ok || !isToken(method) {
		return reject(http.StatusBadRequest, "malformed method")
	}
	target, version, ok := bytes.Cut(rest, []byte{' '})
	if !ok {
		return reject(http.StatusBadRequest, "malformed request line")
	}
	switch string(version) {
	case "HTTP/1.1":
	case "HTTP/1.0":
		h.http10 = true
	case "HTTP/2.0":
		// The preface "PRI * HTTP/2.0": no HTTP/2 in cleartext (decision 12).
		return reject(http.StatusHTTPVersionNotSupported, "HTTP/2 by prior knowledge")
	default:
		return reject(http.StatusBadRequest, "malformed HTTP version")
	}
	h.method, h.target = method, target
	return checkTarget(method, target, proxy)
}

// field checks one field line and takes note of those that decide framing,
// authority or identity.
func (h *head) field(line []byte) *Error {
	if h.fields++; h.fields > maxFields {
		return reject(http.StatusRequestHeaderFieldsTooLarge, "too many fields")
	}
	name, value, ok := bytes.Cut(line, []byte{':'})
	if !ok || !isToken(name) {
		// A line that starts with a space (obs-fold) and a space before the
		// colon both end here: neither is a token.
		return reject(http.StatusBadRequest, "malformed field line")
	}
	return h.note(name, bytes.Trim(value, " \t"))
}

func (h *head) note(name, value []byte) *Error {
	switch {
	case is(name, "host"):
		h.hosts++
		h.host = value
		return checkHostField(value)
	case is(name, "content-length"):
		h.lengths++
		return h.contentLength(value)
	case is(name, "transfer-encoding"):
		h.encodings++
		if !is(value, "chunked") {
			// 400 rather than 501 (RFC 9112 §6.1): an odd spelling is an attack far
			// more often than a coding that we lack.
			return reject(http.StatusBadRequest, "transfer coding other than chunked")
		}
		h.framing.chunked = true
	case is(name, "expect"):
		h.expects++
		if !is(value, "100-continue") {
			return reject(http.StatusExpectationFailed, "unknown expectation")
		}
		h.expectContinue = true
	case is(name, "proxy-authorization"):
		h.proxyAuths++
	case is(name, "http2-settings"):
		return reject(http.StatusBadRequest, "upgrade to h2c")
	case is(name, "upgrade") && listHas(value, "h2c"):
		return reject(http.StatusBadRequest, "upgrade to h2c")
	}
	return nil
}

func (h *head) contentLength(value []byte) *Error {
	n, ok := parseLength(value)
	if !ok {
		return reject(http.StatusBadRequest, "malformed Content-Length")
	}
	h.framing.length = n
	return nil
}

// parseLength accepts plain digits only: net/http and others differ on signs,
// spaces and lists (RFC 9112 §6.3).
func parseLength(value []byte) (int64, bool) {
	const maxDigits = 18 // fits an int64
	if len(value) == 0 || len(value) > maxDigits {
		return 0, false
	}
	var n int64
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// complete checks what only the whole head can tell.
func (h *head) complete() *Error {
	switch {
	case h.hosts > 1:
		return reject(http.StatusBadRequest, "several Host fields")
	case h.hosts == 0 && !h.http10:
		return reject(http.StatusBadRequest, "no Host field")
	case h.lengths > 1:
		return reject(http.StatusBadRequest, "several Content-Length fields")
	case h.encodings > 1:
		return reject(http.StatusBadRequest, "several Transfer-Encoding fields")
	case h.lengths > 0 && h.encodings > 0:
		return reject(http.StatusBadRequest, "Content-Length with Transfer-Encoding")
	case h.encodings > 0 && h.http10:
		return reject(http.StatusBadRequest, "Transfer-Encoding in HTTP/1.0")
	case h.expects > 1:
		return reject(http.StatusBadRequest, "several Expect fields")
	case h.proxyAuths > 1:
		return reject(http.StatusBadRequest, "several Proxy-Authorization fields")
	case is(h.method, "connect") && (h.framing.chunked || h.framing.length > 0):
		return reject(http.StatusBadRequest, "CONNECT with a body")
	}
	return nil
}

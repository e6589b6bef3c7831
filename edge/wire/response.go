package wire

import (
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// ReasonKey is a key of a response's header map whose value becomes the reason
// phrase of the status line and is not sent as a header. It is no valid field
// name, so no upstream can set it.
const ReasonKey = ":reason"

// response writes one response. Each Write reaches the client at once; a head
// without a body waits for the first Write, Flush or the handler's return.
// Bodies without a Content-Length are sent chunked to HTTP/1.1 clients and
// until the end of the connection to others. Trailers are set as with
// net/http: announced in Trailer, or under [http.TrailerPrefix].
type response struct {
	k     *conn
	r     *http.Request // nil if none could be parsed
	body  *body         // nil if the request has none
	watch *watch

	header  http.Header
	status  int // 0 until the final head is written
	framing responseFraming
	left    int64 // of a body with a declared length
	closing bool
	err     error // first write error, sticky
}

type responseFraming uint8

const (
	framingNone responseFraming = iota // no body follows the head
	framingLength
	framingChunked
	framingClose
)

func newResponse(k *conn, r *http.Request) *response {
	w := &response{k: k, r: r, header: make(http.Header)}
	w.closing = r == nil || r.Close || r.ProtoMinor == 0
	return w
}

func (w *response) Header() http.Header { return w.header }

// WriteHeader writes an informational or final head. 101 (Switching
// Protocols) is final here; hijack afterwards.
func (w *response) WriteHeader(status int) {
	w.k.wmu.Lock()
	defer w.k.wmu.Unlock()
	if w.status != 0 || w.k.hijacked {
		return
	}
	if status < 200 && status != http.StatusSwitchingProtocols {
		w.writeInformational(status)
		return
	}
	w.writeHead(status)
}

func (w *response) writeInformational(status int) {
	if w.r == nil || w.r.ProtoMinor == 0 {
		return // HTTP/1.0 knows none (RFC 9110 §15.2)
	}
	w.statusLine(status)
	w.note(w.header.WriteSubset(w.k.bw, unsent))
	w.print("\r\n")
	w.flush()
}

// sendContinue tells the client to send its body. It reports false once the
// final head is out: then the body will not be wanted.
func (w *response) sendContinue() bool {
	w.k.wmu.Lock()
	defer w.k.wmu.Unlock()
	if w.status != 0 || w.k.hijacked {
		return false
	}
	w.print("HTTP/1.1 100 Continue\r\n\r\n")
	w.flush()
	return w.err == nil
}

// unsent are fields that the writer itself decides on.
var unsent = map[string]bool{
	ReasonKey: true, "Connection": true, "Transfer-Encoding": true, "Content-Length": true,
}

func (w *response) writeHead(status int) {
	w.status = status
	if w.body != nil && !w.body.discardBuffered() {
		w.closing = true
	}
	w.statusLine(status)
	w.frame(status)
	exclude := unsent
	if trailers := w.prefixed(); len(trailers) > 0 {
		exclude = withAll(unsent, trailers)
	}
	w.note(w.header.WriteSubset(w.k.bw, exclude))
	w.print("\r\n")
}

func (w *response) statusLine(status int) {
	reason := http.StatusText(status)
	if v := w.header[ReasonKey]; len(v) > 0 {
		reason = headerText(v[0])
	}
	w.print("HTTP/1.1 " + strconv.Itoa(status) + " " + reason + "\r\n")
}

// frame chooses how the body ends and writes the fields that say so
// (RFC 9112 §6.3).
func (w *response) frame(status int) {
	declared := w.header.Get("Content-Length")
	n, err := strconv.ParseInt(declared, 10, 64)
	hasLength := err == nil && n >= 0
	head := w.r != nil && w.r.Method == http.MethodHead
	switch {
	case status == http.StatusSwitchingProtocols:
		for _, v := range w.header["Connection"] {
			w.print("Connection: " + headerText(v) + "\r\n")
		}
		return
	case status == http.StatusNoContent:
	case head || status == http.StatusNotModified:
		if hasLength { // describes what a GET would have brought
			w.print("Content-Length: " + declared + "\r\n")
		}
	case hasLength:
		w.framing, w.left = framingLength, n
		w.print("Content-Length: " + declared + "\r\n")
	case w.r != nil && w.r.ProtoMinor > 0:
		w.framing = framingChunked
		w.print("Transfer-Encoding: chunked\r\n")
	default:
		w.framing, w.closing = framingClose, true
	}
	w.closing = w.closing || hasToken(w.header["Connection"], "close")
	if w.closing {
		w.print("Connection: close\r\n")
	}
}

// Write sends p at once. Bytes beyond a declared length, and a body where none
// may be, are errors and are not sent.
func (w *response) Write(p []byte) (int, error) {
	return w.write(p, w.flush)
}

// Queuer is the response writer of this package.
type Queuer interface {
	http.ResponseWriter
	// Queue is Write for bytes that may wait in the buffer until the next Flush,
	// or the end of the response.
	Queue(p []byte) (int, error)
}

var _ Queuer = (*response)(nil)

// Queue implements [Queuer].
func (w *response) Queue(p []byte) (int, error) {
	return w.write(p, func() {})
}

func (w *response) write(p []byte, flush func()) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.k.wmu.Lock()
	defer w.k.wmu.Unlock()
	switch {
	case w.k.hijacked:
		return 0, http.ErrHijacked
	case w.framing == framingNone:
		return 0, http.ErrBodyNotAllowed
	case w.framing == framingLength && int64(len(p)) > w.left:
		return 0, http.ErrContentLength
	case len(p) == 0:
		return 0, w.err
	}
	w.left -= int64(len(p))
	w.writeBody(p)
	flush()
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

func (w *response) writeBody(p []byte) {
	if len(p) > w.k.bw.Available() {
		w.deadline() // it won't stay in the buffer
	}
	if w.framing != framingChunked {
		w.bytes(p)
		return
	}
	w.print(strconv.FormatInt(int64(len(p)), 16) + "\r\n")
	w.bytes(p)
	w.print("\r\n")
}

// Flush sends the head if it is still waiting.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError is Flush for [http.ResponseController].
func (w *response) FlushError() error {
	w.WriteHeader(http.StatusOK)
	w.k.wmu.Lock()
	defer w.k.wmu.Unlock()
	w.flush()
	return w.err
}

// finish completes the response after the handler has returned. An error means
// that the client can't be told and the connection must close at once.
func (w *response) finish() error {
	if w.status == 0 {
		if w.header.Get("Content-Length") == "" {
			w.header.Set("Content-Length", "0")
		}
		w.WriteHeader(http.StatusOK)
	}
	w.k.wmu.Lock()
	defer w.k.wmu.Unlock()
	if w.framing == framingLength && w.left > 0 {
		w.note(io.ErrUnexpectedEOF)
	}
	if w.framing == framingChunked {
		w.print("0\r\n")
		w.note(w.trailers().Write(w.k.bw))
		w.print("\r\n")
	}
	w.flush()
	return w.err
}

// trailers collects the fields to send after a chunked body.
func (w *response) trailers() http.Header {
	t := make(http.Header)
	for _, list := range w.header["Trailer"] {
		for name := range strings.SplitSeq(list, ",") {
			key := textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
			if v := w.header[key]; len(v) > 0 && !unsent[key] {
				t[key] = v
			}
		}
	}
	for _, key := range w.prefixed() {
		t[strings.TrimPrefix(key, http.TrailerPrefix)] = w.header[key]
	}
	return t
}

func (w *response) prefixed() []string {
	var keys []string
	for key := range w.header {
		if strings.HasPrefix(key, http.TrailerPrefix) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (w *response) deadline() {
	w.note(w.k.nc.SetWriteDeadline(time.Now().Add(w.k.srv.Idle)))
}

func (w *response) print(s string) {
	_, err := w.k.bw.WriteString(s)
	w.note(err)
}

func (w *response) bytes(p []byte) {
	_, err := w.k.bw.Write(p)
	w.note(err)
}

func (w *response) flush() {
	if w.k.hijacked {
		w.note(http.ErrHijacked)
		return
	}
	if w.k.bw.Buffered() == 0 {
		return
	}
	w.deadline()
	w.note(w.k.bw.Flush())
}

func (w *response) note(err error) {
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("write response: %w", err)
	}
}

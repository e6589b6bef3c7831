package refusal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxHost bounds how much of a hostile host is echoed: the longest DNS name,
// and a little more so that an over-long one is recognised.
const maxHost = 260

// body is the wire form, the same as the control API's errors.
type body struct {
	Error bodyError `json:"error"`
}

type bodyError struct {
	Code      Code   `json:"code"`
	Message   string `json:"message"`
	Host      string `json:"host,omitempty"`
	Hint      string `json:"hint"`
	RequestID string `json:"request_id,omitempty"`
}

// JSON returns the body: one JSON object and a newline.
func (r *Refusal) JSON() []byte {
	e := row(r.Code)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// Encoding a struct of strings into memory can't fail.
	_ = enc.Encode(body{bodyError{
		Code: r.Code, Message: e.message, Hint: e.hint,
		Host: printable(r.Host), RequestID: printable(r.RequestID),
	}})
	return b.Bytes()
}

// ReasonPhrase returns the text for an HTTP/1 status line. It names the
// product, the code and the host, because many clients show nothing else of a
// refused CONNECT. It is printable ASCII without line breaks (RFC 9112 §4).
func (r *Refusal) ReasonPhrase() string {
	by := "Blocked by Sallyport: "
	if row(r.Code).fault {
		by = "Failed at Sallyport: "
	}
	phrase := by + printable(string(r.Code))
	if r.Host != "" {
		phrase += " (" + printable(r.Host) + ")"
	}
	return phrase
}

// Header returns the headers of the refusal, Content-Length included. The
// caller owns the map.
func (r *Refusal) Header() http.Header { return r.header(len(r.JSON())) }

func (r *Refusal) header(length int) http.Header {
	e := row(r.Code)
	h := http.Header{
		"Content-Type":    {"application/json; charset=utf-8"},
		"Content-Length":  {strconv.Itoa(length)},
		"Cache-Control":   {"no-store"},
		"Proxy-Status":    {r.proxyStatus(e)},
		"X-Edge-Decision": {"deny"},
		"X-Edge-Reason":   {printable(string(r.Code))},
	}
	if r.Status() == http.StatusProxyAuthRequired {
		h.Set("Proxy-Authenticate", `Basic realm="sallyport", charset="UTF-8"`)
	}
	if e.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(cmp.Or(r.RetryAfterSeconds, e.retryAfter)))
	}
	if e.closes {
		h.Set("Connection", "close")
	}
	return h
}

// proxyStatus is one list member of RFC 9209 §2: our name as a token, the
// error type as a token, the details as a string.
func (r *Refusal) proxyStatus(e *entry) string {
	details := string(r.Code)
	if r.Host != "" {
		details += ": " + r.Host
	}
	return "sallyport; error=" + e.errorType + "; details=" + sfString(details)
}

// Response returns the refusal as an HTTP/1.1 response to req, which may be
// nil. Its body is in memory and needs no closing.
func (r *Refusal) Response(req *http.Request) *http.Response {
	b := r.JSON()
	return &http.Response{
		Status:     strconv.Itoa(r.Status()) + " " + r.ReasonPhrase(),
		StatusCode: r.Status(),
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        r.header(len(b)),
		Body:          io.NopCloser(bytes.NewReader(b)),
		ContentLength: int64(len(b)),
		Close:         r.Closes(),
		Request:       req,
	}
}

// ServeHTTP answers any request with the refusal. The reason phrase is lost,
// because net/http chooses it; use [Refusal.WriteHTTP1] where it matters.
func (r *Refusal) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	b := r.JSON()
	h := w.Header()
	clear(h)
	for name, values := range r.header(len(b)) {
		h[name] = values
	}
	w.WriteHeader(r.Status())
	// A client that has gone needs no answer.
	_, _ = w.Write(b)
}

// WriteHTTP1 writes the refusal as a raw HTTP/1.1 response, for connections
// that no http.Server owns, such as a hijacked CONNECT. The response says
// "Connection: close" if closing is set or the code demands it; the caller
// then closes the connection.
func (r *Refusal) WriteHTTP1(w io.Writer, closing bool) error {
	resp := r.Response(nil)
	resp.Close = resp.Close || closing
	// One write: a refusal is one packet for whoever reads byte-wise.
	var b bytes.Buffer
	if err := resp.Write(&b); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// printable returns s as printable ASCII of bounded length, every other rune
// replaced by '?'.
func printable(s string) string {
	cut := len(s) > maxHost
	if cut {
		s = s[:maxHost]
	}
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' || c == utf8.RuneError {
			return '?'
		}
		return c
	}, s)
	if cut {
		s += "..."
	}
	return s
}

// sfString returns s as a structured-field string (RFC 9651 §4.1.6).
func sfString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(printable(s)) + `"`
}

package edge

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/edge/wire"
)

const reasonKey = wire.ReasonKey

// requests returns the handler of the requests inside a tunnel or on a
// transparent connection.
func (e *Edge) requests(f *flow) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.serveRequest(f, w, r)
	})
}

// serveRequest answers one request. If the upstream's body ends early it
// panics with [http.ErrAbortHandler], so that the client sees a broken
// response and never a short one that looks complete.
func (e *Edge) serveRequest(f *flow, w http.ResponseWriter, r *http.Request) {
	resp := e.exchange(f, w, r)
	if resp.StatusCode == http.StatusSwitchingProtocols {
		e.switchProtocols(w, resp)
		return
	}
	defer resp.Body.Close()
	if r.ProtoMajor == 2 {
		delete(resp.Header, reasonKey)
	}
	announced := writeResponseHead(w, resp)
	if err := copyBody(w, r, resp); err != nil {
		panic(http.ErrAbortHandler)
	}
	writeTrailer(w.Header(), resp.Trailer, announced)
}

// writeResponseHead writes the head of resp and returns how many trailers it
// announced.
func writeResponseHead(w http.ResponseWriter, resp *http.Response) int {
	h := w.Header()
	for name, values := range resp.Header {
		h[name] = values
	}
	// A nil value keeps x/net/http2 from adding what the upstream left out.
	for _, name := range []string{"Content-Type", "Date"} {
		if _, ok := h[name]; !ok {
			h[name] = nil
		}
	}
	if len(resp.Trailer) > 0 {
		names := make([]string, 0, len(resp.Trailer))
		for name := range resp.Trailer {
			names = append(names, name)
		}
		slices.Sort(names)
		h.Set("Trailer", strings.Join(names, ", "))
	}
	w.WriteHeader(resp.StatusCode)
	return len(resp.Trailer)
}

// copyBody streams the body: each piece is sent as soon as the next one has to
// be waited for. Where the length isn't known the head goes ahead, because the
// first piece may be long in coming (server-sent events).
func copyBody(w http.ResponseWriter, r *http.Request, resp *http.Response) error {
	if r.Method == http.MethodHead || resp.ContentLength == 0 || resp.Body == http.NoBody {
		return nil
	}
	out := newBodyWriter(w, resp)
	if out.queue == nil && resp.ContentLength < 0 {
		if err := out.flush(); err != nil {
			return err
		}
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	for {
		n, err := resp.Body.Read(*buf)
		if n > 0 {
			if werr := out.write((*buf)[:n]); werr != nil {
				return werr
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// bodyWriter sends pieces of a body to a client. If whoever reads the upstream
// says when it has to wait, pieces are gathered until then.
type bodyWriter struct {
	w     http.ResponseWriter
	ctl   *http.ResponseController
	queue func([]byte) (int, error) // nil: each piece is sent by itself
	err   error                     // of a flush
}

func newBodyWriter(w http.ResponseWriter, resp *http.Response) *bodyWriter {
	b := &bodyWriter{w: w, ctl: http.NewResponseController(w)}
	body, counted := resp.Body.(*responseBody)
	queuer, queues := w.(wire.Queuer)
	if counted && queues && body.c.beforeWait(b.gathered) {
		b.queue = queuer.Queue
	}
	return b
}

func (b *bodyWriter) flush() error { return b.ctl.Flush() }

// gathered sends what has gathered.
func (b *bodyWriter) gathered() {
	if err := b.flush(); b.err == nil {
		b.err = err
	}
}

func (b *bodyWriter) write(p []byte) error {
	if b.queue != nil {
		if _, err := b.queue(p); err != nil {
			return err
		}
		return b.err
	}
	if _, err := b.w.Write(p); err != nil {
		return err
	}
	return b.flush()
}

// writeTrailer sets the trailers that came after the body. Those that weren't
// announced, as in gRPC over HTTP/2, go under the prefix that makes net/http,
// x/net/http2 and package wire send them all the same.
func writeTrailer(h, trailer http.Header, announced int) {
	prefix := http.TrailerPrefix
	if len(trailer) == announced {
		prefix = ""
	}
	for name, values := range trailer {
		h[prefix+name] = values
	}
}

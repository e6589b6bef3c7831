package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"
)

// readRequest reads and checks one head and parses it. A request that comes
// with an error serves only to render the rejection.
func (k *conn) readRequest() (*http.Request, *head, error) {
	raw := getHead()
	defer putHead(raw)
	if err := k.nc.SetReadDeadline(time.Now().Add(k.srv.HeadTimeout)); err != nil {
		return nil, nil, err
	}
	var err error
	*raw, err = readHead(k.br, (*raw)[:0], cmp.Or(k.srv.MaxHead, defaultMaxHead))
	if err != nil {
		return nil, nil, err
	}
	if err := k.nc.SetReadDeadline(time.Time{}); err != nil {
		return nil, nil, err
	}
	h, bad := checkHead(*raw, k.srv.Proxy)
	if bad != nil {
		return nil, nil, bad
	}
	r, bad := parse(*raw, h)
	if bad != nil {
		return nil, nil, bad
	}
	return r, h, nil
}

// parse lets net/http read a checked head. Both readings must agree on the
// framing; the body itself is read by this package.
func parse(raw []byte, h *head) (*http.Request, *Error) {
	br := headReaders.Get().(*bufio.Reader)
	src := headBytes.Get().(*bytes.Reader)
	src.Reset(raw)
	br.Reset(src)
	defer headReaders.Put(br)
	defer headBytes.Put(src)
	r, err := http.ReadRequest(br)
	if err != nil {
		return nil, reject(http.StatusBadRequest, "unparsable head")
	}
	r.Body = http.NoBody // refers to br
	want := h.framing.length
	if h.framing.chunked {
		want = -1
	}
	if r.ContentLength != want || (len(r.TransferEncoding) > 0) != h.framing.chunked {
		return nil, reject(http.StatusBadRequest, "ambiguous framing")
	}
	if h.hosts > 0 {
		// net/http drops the field, and with an absolute-form target its value
		// is lost: the caller couldn't see that the two disagree.
		r.Header["Host"] = []string{string(h.host)}
	}
	return r, nil
}

// handle calls the handler for one request and sees the exchange through.
func (k *conn) handle(ctx context.Context, r *http.Request, h *head) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.RemoteAddr = k.nc.RemoteAddr().String()
	r = r.WithContext(ctx)
	w := newResponse(k, r)
	w.watch = newWatch(k, cancel)
	if h.framing != (framing{}) {
		w.body = newBody(k, w, r, h)
		r.Body = w.body
	} else {
		w.watch.arm()
	}
	completed := k.call(w, r)
	w.watch.stop()
	if k.hijacked {
		return false
	}
	return k.complete(w, completed)
}

// call runs the handler and reports whether it returned. A panic with
// [http.ErrAbortHandler] ends the connection without completing the response;
// so does any other, which is a fault of ours and is logged.
func (k *conn) call(w *response, r *http.Request) (completed bool) {
	defer func() {
		if completed {
			return
		}
		v := recover()
		err, _ := v.(error)
		if v != nil && !errors.Is(err, http.ErrAbortHandler) {
			k.logPanic(r.Context(), v)
		}
	}()
	k.srv.Handler.ServeHTTP(w, r)
	return true
}

// complete ends the response and reports whether the connection can carry
// another request.
func (k *conn) complete(w *response, completed bool) bool {
	bodyRead := w.body == nil || w.body.finish()
	if !completed || w.finish() != nil {
		abort(k.nc)
		return false
	}
	if w.closing || !bodyRead {
		Linger(k.nc)
		return false
	}
	return true
}

// Arrived reports whether all of r has been read from its client: it has no
// body, or one of known length that is here. r comes from a [Server].
func Arrived(r *http.Request) bool {
	if r.Body == nil || r.Body == http.NoBody {
		return true
	}
	b, ok := r.Body.(*body)
	return ok && b.arrived()
}

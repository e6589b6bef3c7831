package edge_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/edge"
)

const short = 150 * time.Millisecond

// trickle is a body that takes several times as long as every time-out but the
// idle one.
type trickle struct{ left int }

func (r *trickle) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(short)
	r.left--
	return copy(p, "x"), nil
}

// Data paths have no total time-out (decision 28): only the wait for a head is
// bounded, and one without any byte.
func TestSlowBodiesAreNotCutOff(t *testing.T) {
	t.Parallel()
	for _, p := range bridges {
		t.Run(fmt.Sprintf("client h2 %v, origin h2 %v", p.client, p.origin), func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.opts.Timeouts = edge.Timeouts{Header: 2 * short, ResponseHeader: 2 * short, ServerFirst: short, Idle: time.Minute}
			b.originFor(p.origin, "www.allowed.test", func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || len(body) != 5 {
					t.Errorf("origin read %d bytes, error %v", len(body), err)
				}
				_ = http.NewResponseController(w).Flush()
				for range 5 {
					time.Sleep(short)
					fmt.Fprint(w, "y")
					_ = http.NewResponseController(w).Flush()
				}
			})
			b.start()
			for _, length := range []int64{5, -1} {
				req, err := http.NewRequest("POST", originURL, &trickle{5})
				b.must(err)
				req.ContentLength = length
				resp, err := b.client(p.client).Do(req)
				b.must(err)
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || string(body) != "yyyyy" {
					t.Errorf("length %d: %q, error %v", length, body, err)
				}
			}
		})
	}
}

// A side that moves no byte for the idle time is given up, whichever it is.
func TestIdleSidesAreGivenUp(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.opts.Timeouts = edge.Timeouts{Idle: 2 * short}
	b.originFor(false, "www.allowed.test", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/stuck": // in the middle of an answer
			fmt.Fprint(w, "half")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case "/flood": // faster than anybody reads
			for {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		default:
			_, _ = io.Copy(io.Discard, r.Body)
		}
	})
	b.rawOrigin("www.allowed.test", 9000, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	b.start()

	get := func(path string) *raw {
		k := b.inside("www.allowed.test")
		k.send("GET " + path + " HTTP/1.1\r\nHost: www.allowed.test\r\n\r\n")
		return k
	}
	stuck := get("/stuck")
	resp, err := http.ReadResponse(stuck.br, nil)
	b.must(err)
	if body, err := io.ReadAll(resp.Body); err == nil || string(body) != "half" {
		t.Errorf("an answer that got stuck: %q, error %v", body, err)
	}
	get("/flood") // and never read
	k := b.inside("www.allowed.test")
	k.send("POST /up HTTP/1.1\r\nHost: www.allowed.test\r\nContent-Length: 10\r\n\r\nhalf")
	for k.br.Buffered() >= 0 {
		if _, err := k.br.ReadByte(); err != nil {
			k.ended()
			break
		}
	}
	opaque := b.connect("www.allowed.test:9000")
	opaque.send("*x*")
	opaque.ended()
	idle := b.inside("www.allowed.test") // no request at all
	idle.ended()
	b.recorded(4)
}

// The answer's head is waited for as long as the operator says, and then a
// time-out is told as such; over HTTP/2 as well.
func TestResponseHeadTimeout(t *testing.T) {
	t.Parallel()
	for _, p := range bridges {
		b := newBed(t)
		b.opts.Timeouts.ResponseHeader = short
		b.originFor(p.origin, "www.allowed.test", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		b.start()
		resp, body := b.get(b.client(p.client), originURL)
		if resp.StatusCode != 504 || !strings.Contains(body, "upstream_timeout") {
			t.Errorf("%+v: %d %s", p, resp.StatusCode, body)
		}
	}
}

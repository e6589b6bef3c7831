package edge_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/edge/boundary"
)

// originConns notes the connections that an origin sees.
type originConns struct {
	mu     sync.Mutex
	from   []string
	closed chan string
}

func (o *originConns) state(c net.Conn, s http.ConnState) {
	if s == http.StateClosed {
		o.closed <- c.RemoteAddr().String()
	}
}

func (o *originConns) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.from = append(o.from, r.RemoteAddr)
}

func (o *originConns) seen() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.from
}

// An origin that is led out of step answers whoever uses the connection next,
// and takes its request for the rest of the last: that may be another request
// of the same sandbox, never another sandbox's with a secret in it.
func TestConnectionsBelongToOneBoundary(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"h2", "http/1.1"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			conns := &originConns{closed: make(chan string, 8)}
			cfg := &tls.Config{NextProtos: []string{protocol}}
			cfg.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return b.origins.Leaf("www.allowed.test") }
			ln := b.listen()
			b.pin("www.allowed.test", 443, ln)
			srv := &http.Server{Handler: conns, TLSConfig: cfg, ConnState: conns.state, ErrorLog: discardLog}
			b.serve(srv, func() error { return srv.ServeTLS(ln, "", "") })
			b.put(boundary.Spec{ID: "other"}, defaultPolicy)
			b.start()
			box, other := b.client(false), b.clientOf(b.serveProxy("other"))
			for _, c := range []*http.Client{box, other, box, other} {
				b.get(c, "https://www.allowed.test/")
			}
			from := conns.seen()
			if from[0] == from[1] || from[0] != from[2] || from[1] != from[3] {
				t.Fatalf("connections %q, want one of each boundary", from)
			}
			// Replacing a boundary keeps its connections, closing it ends them.
			b.put(boundary.Spec{ID: "other"}, defaultPolicy)
			b.get(other, "https://www.allowed.test/")
			if from = conns.seen(); from[4] != from[1] {
				t.Error("a replaced boundary has lost its connections")
			}
			b.table.Delete("other")
			select {
			case gone := <-conns.closed:
				if gone != from[1] {
					t.Errorf("connection %s ended, want %s", gone, from[1])
				}
			case <-time.After(10 * time.Second):
				t.Fatal("the connection of a closed boundary stays open")
			}
			b.put(boundary.Spec{ID: "other"}, defaultPolicy)
			b.get(other, "https://www.allowed.test/")
			b.get(box, "https://www.allowed.test/")
			if from = conns.seen(); from[5] == from[1] || from[5] == from[0] || from[6] != from[0] {
				t.Errorf("connections %q", from)
			}
		})
	}
}

// clientOf returns a client that uses the proxy at addr.
func (b *bed) clientOf(addr string) *http.Client {
	c := b.client(false)
	c.Transport.(*http.Transport).Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: addr})
	return c
}

// A boundary that closes takes tunnels and transfers with it, at both ends.
func TestClosedBoundaryLeavesNoConnection(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	gone := make(chan struct{})
	b.origin("www.allowed.test", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	b.start()
	resp, err := b.client(false).Get("https://www.allowed.test/")
	b.must(err)
	defer resp.Body.Close()
	b.table.Delete(boxID)
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the transfer ended well")
	}
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Error("the origin isn't told")
	}
	if r := b.recorded(1)[0]; r.Verdict != "deny" || r.Reason != "network_policy_denied" {
		t.Errorf("record %s %s", r.Verdict, r.Reason)
	}
}

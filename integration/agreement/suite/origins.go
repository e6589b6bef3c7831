package suite

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/sallyport/sallyport/certs"
)

// Origins are the hosts that rows name, on loopback addresses of their own and
// on the real ports. They answer 200 to everything, and count.
type Origins struct {
	secret string
	conns  sync.WaitGroup // listeners and servers
	stops  []func()

	mu      sync.Mutex
	touched map[string]int              // connections to hosts that nobody may reach, by origin
	leaks   map[string]int              // reads that hold the secret where it may not be
	seen    map[string]map[string]Count // by row, then origin
}

// Count is what one origin saw of one row.
type Count struct {
	Requests int
	Secrets  int // of them, with the secret
}

// Offsets of the hosts from the base address.
var offsets = []struct {
	host   string // empty: the literal
	offset byte
}{{Bound, 1}, {Allowed, 2}, {Denied, 3}, {"", 4}}

// Address returns the address of a host; that of the literal, if host is empty.
func Address(base netip.Addr, host string) netip.Addr {
	b := base.As4()
	for _, o := range offsets {
		if o.host == host {
			b[3] += o.offset
		}
	}
	return netip.AddrFrom4(b)
}

// ports are where each host listens, and whether with TLS.
var ports = []struct {
	port uint16
	tls  bool
}{{443, true}, {80, false}, {8443, true}}

// Listen starts the origins at the four addresses after base, which is a
// loopback address. Their certificates are the authority's. Close them.
func Listen(base netip.Addr, authority *certs.Authority, secret string) (*Origins, error) {
	o := &Origins{secret: secret, touched: map[string]int{}, leaks: map[string]int{}, seen: map[string]map[string]Count{}}
	for _, h := range offsets {
		for _, p := range ports {
			ln, err := net.Listen("tcp4", netip.AddrPortFrom(Address(base, h.host), p.port).String())
			if err != nil {
				o.Close()
				return nil, fmt.Errorf("listen as origin: %w", err)
			}
			o.serve(ln, h.host, p.port, p.tls, authority)
		}
	}
	return o, nil
}

// Close ends all origins.
func (o *Origins) Close() {
	for _, stop := range o.stops {
		stop()
	}
	o.conns.Wait()
}

// serve runs one origin. It has HTTP/2 where there is TLS.
func (o *Origins) serve(ln net.Listener, host string, port uint16, withTLS bool, authority *certs.Authority) {
	origin := host
	if host == "" {
		origin = "literal"
	}
	if port != 443 {
		origin = fmt.Sprintf("%s:%d", origin, port)
	}
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { o.handle(origin, w, r) }),
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew && (host == Denied || host == "") {
				o.note(func() { o.touched[origin]++ })
			}
		},
		ErrorLog: discard,
	}
	leaf := host
	if host == "" {
		leaf = ln.Addr().(*net.TCPAddr).IP.String()
	}
	run := func() error { return srv.Serve(watched{ln, o, origin}) }
	if withTLS {
		srv.TLSConfig = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return authority.Leaf(leaf) }}
		run = func() error { return srv.ServeTLS(ln, "", "") }
	}
	o.conns.Go(func() { _ = run() })
	o.stops = append(o.stops, func() { srv.Close() })
}

// handle counts a request once all of it has come.
func (o *Origins) handle(origin string, w http.ResponseWriter, r *http.Request) {
	_, err := io.Copy(io.Discard, r.Body)
	id := strings.TrimPrefix(r.URL.Path, "/")
	id = strings.TrimPrefix(id, "/"+Denied+"/") // a path may begin like an authority
	var head strings.Builder
	_ = r.Header.Write(&head)
	secret := strings.Contains(head.String()+r.Host+r.URL.String(), o.secret)
	o.note(func() {
		if secret && origin != Bound {
			o.leaks[origin]++
		}
		if err != nil {
			return
		}
		if o.seen[id] == nil {
			o.seen[id] = map[string]Count{}
		}
		c := o.seen[id][origin]
		c.Requests++
		if secret {
			c.Secrets++
		}
		o.seen[id][origin] = c
	})
	_, _ = io.WriteString(w, origin)
}

func (o *Origins) note(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f()
}

// watched looks for the secret in what arrives in cleartext, parsed or not.
type watched struct {
	net.Listener
	o      *Origins
	origin string
}

func (w watched) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &watchedConn{Conn: c, watched: w}, nil
}

type watchedConn struct {
	net.Conn
	watched
	tail string
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	text := c.tail + string(p[:n])
	if strings.Contains(text, c.o.secret) {
		c.o.note(func() { c.o.leaks[c.origin]++ })
	}
	c.tail = text[max(0, len(text)-len(c.o.secret)):]
	return n, err
}

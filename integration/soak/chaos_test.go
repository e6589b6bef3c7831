package soak_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/sallyport/sallyport/integration/harness"
)

// hang is how long a request may take that nobody answers: longer than every
// time-out of the edge that is met here, and than a busy machine's pauses.
const hang = 45 * time.Second

// A crash is something that dies and comes back at the same address.
type crash interface {
	kill()
	revive()
}

// A chaos is an edge between a resolver and origins of its own, on loopback
// addresses that no other test has. Each host has its own origin, as on a real
// network: a connection to the denied one is one too many.
type chaos struct {
	t        *testing.T
	edge     *edgeProcess
	resolver *resolver
	bound    *site
	allowed  *site
	denied   *site

	lives  atomic.Int64         // edges that were killed
	served atomic.Int64         // requests that were answered by an origin
	box    atomic.Pointer[life] // what the box knows
	known  sync.Map             // placeholders of all edges
	counts sync.Map             // *atomic.Int64 by outcome
}

// A life is one edge and the placeholder that it gave out. A later one doesn't
// know it: it is worth nothing, and passes as any other text.
type life struct {
	number      int64
	placeholder string
}

// Killing the edge, the resolver or an origin, at any moment, yields no request
// that the policy denies, no secret in another place, and no request that
// hangs; and once all of them are back, everything works.
func TestChaos(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("needs root: for a resolver on port 53, and a mount namespace")
	}
	c := newChaos(t)
	ctx, cancel := context.WithTimeout(t.Context(), atLength(8*time.Second, 5*time.Minute))
	defer cancel()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { c.ask(ctx, i) })
	}
	kills := c.rage(ctx)
	wg.Wait()
	c.counts.Range(func(k, v any) bool { t.Logf("%v: %d", k, v.(*atomic.Int64).Load()); return true })
	t.Logf("%d kills", kills)
	for _, must := range []string{"bound 200", "allowed 200"} {
		if _, seen := c.counts.Load(must); !seen {
			t.Errorf("no %q at all: what was found proves nothing", must)
		}
	}
	c.expectOrder()
}

func newChaos(t *testing.T) *chaos {
	ca, err := harness.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Issue(boundHost, allowedHost, deniedHost)
	if err != nil {
		t.Fatal(err)
	}
	net := fmt.Sprintf("127.77.%d.", 1+rand.IntN(250))
	c := &chaos{t: t}
	c.bound, c.allowed, c.denied = newSite(t, net+"1:443", cert), newSite(t, net+"2:443", cert), newSite(t, net+"3:443", cert)
	c.resolver = newResolver(t, net+"53:53", map[string]string{boundHost: net + "1", allowedHost: net + "2", deniedHost: net + "3"})

	conf := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(conf, []byte("nameserver "+net+"53\noptions timeout:1 attempts:1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	upstream := fmt.Sprintf("{extra_roots: [origins.pem], allow_cidrs: [%s0/24]}", net)
	c.edge = startEdge(t, ca, upstream, "unshare", "-m", "sh", "-c", `mount --bind "$0" /etc/resolv.conf && exec "$@"`, conf)
	c.learn()
	return c
}

// learn asks the edge for its placeholder.
func (c *chaos) learn() {
	l := &life{c.lives.Load(), c.edge.placeholder()}
	c.known.Store(l.placeholder, true)
	c.box.Store(l)
}

// rage kills one of them after another at random moments, and revives it soon.
// Every other time it waits until something is served first: a machine that is
// busy would see nothing but starts otherwise.
func (c *chaos) rage(ctx context.Context) (kills int) {
	victims := []crash{edgeCrash{c}, c.resolver, c.bound, c.allowed}
	for ctx.Err() == nil {
		if kills%2 == 0 {
			c.awaitService(ctx)
		}
		pause(ctx, 400*time.Millisecond)
		v := victims[rand.IntN(len(victims))]
		v.kill()
		kills++
		pause(ctx, 300*time.Millisecond)
		v.revive()
	}
	return kills
}

// pause waits a random time, up to most.
func pause(ctx context.Context, most time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(rand.N(most)):
	}
}

// awaitService waits until more is served. With everything alive that must
// come to be.
func (c *chaos) awaitService(ctx context.Context) {
	before := c.served.Load()
	for deadline := time.Now().Add(hang); c.served.Load() == before && ctx.Err() == nil; pause(ctx, 10*time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Error("everything is alive, and nothing is served")
			return
		}
	}
}

// edgeCrash is the edge as a victim.
type edgeCrash struct{ c *chaos }

func (e edgeCrash) kill()   { e.c.lives.Add(1); e.c.edge.kill() }
func (e edgeCrash) revive() { e.c.edge.start(e.c.edge.proxy); e.c.learn() }

// ask makes requests of every kind until ctx ends.
func (c *chaos) ask(ctx context.Context, worker int) {
	client := c.edge.client(hang)
	for i := worker; ctx.Err() == nil; i++ {
		box := c.box.Load()
		kind, r := request(i, box.placeholder)
		began := time.Now()
		resp, err := client.Do(r)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if time.Since(began) >= hang {
			c.t.Errorf("a request to %s hung: %v", r.URL.Host, err)
		}
		outcome := fmt.Sprint(kind, " ", lastWords(err))
		if resp != nil {
			outcome = fmt.Sprint(kind, " ", resp.StatusCode)
		}
		stale := kind == "misplaced" && box.number != c.lives.Load()
		if err == nil && resp.StatusCode == http.StatusOK && kind != "bound" && kind != "allowed" && !stale {
			c.t.Errorf("a request that is %s was answered", kind)
		}
		if err == nil && resp.StatusCode == http.StatusOK {
			c.served.Add(1)
		}
		n, _ := c.counts.LoadOrStore(outcome, new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
		if err != nil {
			time.Sleep(5 * time.Millisecond) // a dead edge refuses faster than anybody would ask
		}
	}
}

// lastWords returns the end of an error's text, which is what went wrong.
func lastWords(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	return text[strings.LastIndex(text, ": ")+1:]
}

// request returns the i-th request, and what is the matter with it.
func request(i int, placeholder string) (kind string, r *http.Request) {
	kinds := []string{"bound", "allowed", "misplaced", "bound", "denied", "fronted"}
	kind = kinds[i%len(kinds)]
	host := map[string]string{"bound": boundHost, "denied": deniedHost}[kind]
	r, err := http.NewRequest(http.MethodPost, "https://"+cmp.Or(host, allowedHost)+"/", strings.NewReader("x"))
	if err != nil {
		panic(err)
	}
	if kind != "allowed" && kind != "fronted" {
		r.Header.Set("Authorization", "Bearer "+placeholder)
	}
	if kind == "fronted" {
		r.Host = deniedHost
	}
	return kind, r
}

// expectOrder checks what the origins saw, and that everything works again.
func (c *chaos) expectOrder() {
	c.t.Helper()
	if n := c.denied.connections.Load(); n > 0 {
		c.t.Errorf("%d connections to the denied host", n)
	}
	for _, s := range []*site{c.bound, c.allowed, c.denied} {
		for header := range s.authorizations() {
			token := strings.TrimPrefix(header, "Bearer ")
			_, inert := c.known.Load(token)
			if token != "" && !inert && (s != c.bound || token != realSecret) {
				c.t.Errorf("%s was sent %q", s.addr, header)
			}
		}
	}
	client := c.edge.client(hang)
	for _, host := range []string{boundHost, allowedHost} {
		resp, err := client.Get("https://" + host + "/")
		if err != nil {
			c.t.Errorf("after it all: %v", err)
			continue
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			c.t.Errorf("after it all: %s: %s", host, resp.Status)
		}
	}
}

// A site is an origin that can be killed.
type site struct {
	t           *testing.T
	addr        string
	cert        tls.Certificate
	server      *http.Server
	connections atomic.Int64
	mu          sync.Mutex
	seen        map[string]bool // values of Authorization
}

func newSite(t *testing.T, addr string, cert tls.Certificate) *site {
	s := &site{t: t, addr: addr, cert: cert, seen: map[string]bool{}}
	s.revive()
	t.Cleanup(s.kill)
	return s
}

func (s *site) authorizations() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

func (s *site) kill() { s.server.Close() }

func (s *site) revive() {
	s.server = &http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{s.cert}, MinVersion: tls.VersionTLS12},
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				s.connections.Add(1)
			}
		},
		ErrorLog: silent,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			s.seen[r.Header.Get("Authorization")] = true
			s.mu.Unlock()
			_, _ = io.Copy(w, r.Body)
		}),
	}
	l := listenAgain(s.t, s.addr)
	go func() { _ = s.server.ServeTLS(l, "", "") }()
}

// listenAgain listens where another listener may just have been closed.
func listenAgain(t *testing.T, addr string) net.Listener {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		l, err := net.Listen("tcp", addr)
		if err == nil {
			return l
		}
		if time.Now().After(deadline) {
			t.Error(err)
			return l
		}
	}
}

// A resolver answers for the hosts of a chaos.
type resolver struct {
	t      *testing.T
	addr   string
	names  map[string]string
	server *dns.Server
	ended  chan struct{}
}

func newResolver(t *testing.T, addr string, names map[string]string) *resolver {
	r := &resolver{t: t, addr: addr, names: names}
	r.revive()
	t.Cleanup(r.kill)
	return r
}

func (r *resolver) kill() { _ = r.server.Shutdown(); <-r.ended }

func (r *resolver) revive() {
	conn, err := net.ListenPacket("udp", r.addr)
	if err != nil {
		r.t.Error(err)
		return
	}
	started := make(chan struct{})
	ended := make(chan struct{})
	r.server = &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(r.answer), NotifyStartedFunc: func() { close(started) }}
	r.ended = ended
	go func() { defer close(ended); _ = r.server.ActivateAndServe() }()
	<-started
}

func (r *resolver) answer(w dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg).SetReply(q)
	name := strings.TrimSuffix(strings.ToLower(q.Question[0].Name), ".")
	if addr := r.names[name]; addr != "" && q.Question[0].Qtype == dns.TypeA {
		m.Answer = append(m.Answer, &dns.A{
			Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 1}, A: net.ParseIP(addr),
		})
	}
	_ = w.WriteMsg(m) // a client that is gone is its own loss
}

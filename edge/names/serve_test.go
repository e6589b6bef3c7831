package names_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/miekg/dns"
	"github.com/vishvananda/netlink"

	"github.com/sallyport/sallyport/edge/names"
)

// serveUDP serves conn until the test ends.
func serveUDP(t *testing.T, s *names.Server, conn *net.UDPConn) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.ServeUDP(ctx, conn) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("ServeUDP: %v", err)
		}
		conn.Close()
	})
}

func bind(t *testing.T, addr string) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(addr)))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestUDPAnswersFromTheQueriedAddress(t *testing.T) {
	t.Parallel()
	s, _, _ := newServer(allows)
	conn := bind(t, "0.0.0.0:0")
	serveUDP(t, s, conn)
	port := uint16(conn.LocalAddr().(*net.UDPAddr).Port)
	for _, addr := range []string{"127.0.0.1", "127.0.0.53", "127.9.8.7"} {
		// A connected socket takes answers from that address only.
		m, err := dns.Exchange(query("allowed.test.", dns.TypeA), netip.AddrPortFrom(netip.MustParseAddr(addr), port).String())
		if err != nil || len(m.Answer) != 1 {
			t.Errorf("%s: %v, %v", addr, m, err)
		}
	}
}

// inNetwork runs f on a thread in a new network namespace in which, as in a
// sandbox, every IPv4 address is local. Sockets that f makes stay in it; the
// thread ends with f.
func inNetwork(t *testing.T, f func() error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root is needed for a network namespace")
	}
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread can't be used again
		result <- func() error {
			if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
				return err
			}
			lo, err := netlink.LinkByName("lo")
			if err != nil {
				return err
			}
			if err := netlink.LinkSetUp(lo); err != nil {
				return err
			}
			_, all, err := net.ParseCIDR("0.0.0.0/0")
			if err != nil {
				return err
			}
			if err := netlink.RouteAdd(&netlink.Route{LinkIndex: lo.Attrs().Index, Dst: all, Table: 255, Type: syscall.RTN_LOCAL, Scope: netlink.SCOPE_HOST}); err != nil {
				return err
			}
			return f()
		}()
	}()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
}

// Ledger: ED-30
// Case: B24
func TestAnyResolverAddressInASandboxIsOurs(t *testing.T) {
	t.Parallel()
	s, _, _ := newServer(allows)
	var server *net.UDPConn
	clients := map[string]net.Conn{}
	inNetwork(t, func() error {
		var err error
		if server, err = net.ListenUDP("udp4", &net.UDPAddr{Port: 53}); err != nil {
			return err
		}
		for _, addr := range []string{"8.8.8.8:53", "127.0.0.53:53", "198.18.0.1:53", "192.0.2.99:53"} {
			c, err := net.Dial("udp4", addr)
			if err != nil {
				return errors.Join(err, server.Close())
			}
			clients[addr] = c
		}
		return nil
	})
	serveUDP(t, s, server)
	for addr, c := range clients {
		defer c.Close()
		for name, want := range map[string]int{"allowed.test.": dns.RcodeSuccess, "evil.test.": dns.RcodeRefused} {
			m, _, err := new(dns.Client).ExchangeWithConn(query(name, dns.TypeA), &dns.Conn{Conn: c})
			if err != nil || m.Rcode != want {
				t.Errorf("%s at %s: %v, %v", name, addr, m, err)
			}
		}
	}
}

// serveTCP returns a client connection whose other end is served.
func serveTCP(t *testing.T, s *names.Server) net.Conn {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.ServeTCPConn(ctx, conn) }()
	t.Cleanup(func() { cancel(); <-done; client.Close() })
	return client
}

// Case: B24
func TestTCPAnswersInOrder(t *testing.T) {
	t.Parallel()
	s, _, _ := newServer(allows)
	c := &dns.Conn{Conn: serveTCP(t, s)}
	asked := []string{"allowed.test.", "evil.test.", "a.wild.test."}
	for _, name := range asked { // all at once, before the first answer is read
		if err := c.WriteMsg(query(name, dns.TypeA)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range asked {
		m, err := c.ReadMsg()
		if err != nil || m.Question[0].Name != name || (m.Rcode == dns.RcodeSuccess) != (name != "evil.test.") {
			t.Fatalf("%s: %v, %v", name, m, err)
		}
	}
}

func TestTCPHostileFraming(t *testing.T) {
	t.Parallel()
	s, _, _ := newServer(allows)
	cases := map[string][]byte{
		"empty message":      {0, 0},
		"less than a header": {0, 5, 1, 2, 3, 4, 5},
		"a response":         append([]byte{0, 12, 0, 1, 0x80}, make([]byte, 9)...),
	}
	for name, frame := range cases {
		c := serveTCP(t, s)
		if _, err := c.Write(frame); err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(c); len(b) != 0 || err != nil {
			t.Errorf("%s: got %x, %v", name, b, err)
		}
	}
	// A message of which each byte comes alone, after one of the largest size.
	c := serveTCP(t, s)
	big := append([]byte{0xff, 0xff, 0, 1, 1, 0}, make([]byte, 0xffff-4)...)
	if _, err := c.Write(big); err != nil {
		t.Fatal(err)
	}
	b, err := query("allowed.test.", dns.TypeA).Pack()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...) {
		if _, err := c.Write([]byte{one}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{dns.RcodeFormatError, dns.RcodeSuccess} {
		m, err := (&dns.Conn{Conn: c}).ReadMsg()
		if err != nil || m.Rcode != want {
			t.Errorf("got %v, %v, want %s", m, err, dns.RcodeToString[want])
		}
	}
}

func TestServingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s, _, _ := newServer(allows)
	ctx, cancel := context.WithCancel(t.Context())
	conn := bind(t, "127.0.0.1:0")
	defer conn.Close()
	client, server := net.Pipe()
	defer client.Close()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.ServeUDP(ctx, conn); err != nil {
			t.Errorf("UDP: %v", err)
		}
	})
	wg.Go(func() {
		if err := s.ServeTCPConn(ctx, server); err != nil {
			t.Errorf("TCP: %v", err)
		}
	})
	cancel()
	wg.Wait()
	closed := bind(t, "127.0.0.1:0")
	closed.Close()
	if err := s.ServeUDP(t.Context(), closed); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed socket: %v", err)
	}
}

// Ledger: ED-32
func TestQueriesAreRateLimited(t *testing.T) {
	t.Parallel()
	rec := new(records)
	s := names.New(names.Config{Boundary: "b", Decide: allows, Pool: new(names.Pool), Audit: rec, QueriesPerSecond: 1})
	conn := bind(t, "127.0.0.1:0")
	serveUDP(t, s, conn)
	for range 2 { // the burst
		if m, err := dns.Exchange(query("allowed.test.", dns.TypeA), conn.LocalAddr().String()); err != nil || m.Rcode != dns.RcodeSuccess {
			t.Fatalf("%v, %v", m, err)
		}
	}
	c, err := net.Dial("udp", conn.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b, err := query("evil.test.", dns.TypeA).Pack()
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		c.Write(b)
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if n := len(rec.all); n > 10 {
		t.Errorf("%d queries of a flood were answered at once", n)
	}
}

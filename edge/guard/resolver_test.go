package guard_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"

	"github.com/sallyport/sallyport/edge/guard"
)

// answers is a DNS server on loopback. Its function returns the records for a
// question, in zone-file form without the name.
func answers(t *testing.T, records func(q dns.Question) []string) func(context.Context, string) ([]netip.Addr, error) {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &dns.Server{PacketConn: pc, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, req *dns.Msg) {
		m := new(dns.Msg).SetReply(req)
		for _, r := range records(req.Question[0]) {
			rr, err := dns.NewRR(r)
			if err != nil {
				t.Error(err)
				return
			}
			m.Answer = append(m.Answer, rr)
		}
		w.WriteMsg(m)
	})}
	started := make(chan struct{})
	srv.NotifyStartedFunc = func() { close(started) }
	done := make(chan struct{})
	go func() { defer close(done); srv.ActivateAndServe() }()
	<-started
	t.Cleanup(func() { srv.Shutdown(); <-done })
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
	return func(ctx context.Context, name string) ([]netip.Addr, error) {
		return r.LookupNetIP(ctx, "ip", name+".")
	}
}

// zone answers name with the addresses listed, by family.
func zone(addrs ...string) func(dns.Question) []string {
	return func(q dns.Question) []string {
		var out []string
		for _, a := range addrs {
			if strings.Contains(a, ":") && q.Qtype == dns.TypeAAAA {
				out = append(out, q.Name+" 0 IN AAAA "+a)
			}
			if !strings.Contains(a, ":") && q.Qtype == dns.TypeA {
				out = append(out, q.Name+" 0 IN A "+a)
			}
		}
		return out
	}
}

// Ledger: ED-7
// Ledger: ED-8
// Case: B08
// Case: B12
// Case: B27
func TestResolverAnswers(t *testing.T) {
	t.Parallel()
	reached := guard.Public // stands for: connected
	cases := []struct {
		name  string
		addrs []string
		allow string
		want  guard.Class
	}{
		{"loopback", []string{"127.0.0.1"}, "", guard.Loopback},
		{"loopback, IPv6", []string{"::1"}, "", guard.Loopback},
		{"private", []string{"10.0.0.5"}, "", guard.Private},
		{"two private", []string{"10.0.0.5", "192.168.0.1"}, "", guard.Private},
		{"shared", []string{"100.64.0.1"}, "", guard.SharedSpace},
		{"link-local", []string{"169.254.1.1"}, "", guard.LinkLocal},
		{"unspecified", []string{"0.0.0.0"}, "", guard.Unspecified},
		{"synthetic", []string{"198.18.0.1"}, "", guard.Benchmark},
		{"multicast", []string{"224.0.0.1"}, "", guard.Multicast},
		{"class E", []string{"240.0.0.1"}, "", guard.Reserved},
		{"unique local", []string{"fd12::1"}, "", guard.UniqueLocal},
		{"mapped loopback", []string{"::ffff:127.0.0.1"}, "", guard.Loopback},
		{"compatible loopback", []string{"::127.0.0.1"}, "", guard.Loopback},
		{"NAT64 of private", []string{"64:ff9b::a00:1"}, "", guard.Private},
		{"6to4 of loopback", []string{"2002:7f00:1::"}, "", guard.Transition},
		{"Teredo", []string{"2001:0:808:808::f5ff:fffe"}, "", guard.Transition},
		{"metadata", []string{"169.254.169.254"}, "", guard.Metadata},
		{"metadata, listed", []string{"169.254.169.254"}, "169.254.0.0/16", guard.Metadata},
		{"metadata, IPv6, listed", []string{"fd00:ec2::254"}, "fd00::/8", guard.Metadata},
		{"metadata among public", []string{"8.8.8.8", "169.254.169.254", "1.1.1.1"}, "", guard.Metadata},
		{"metadata among listed", []string{"127.0.0.1", "169.254.170.2"}, "127.0.0.0/8", guard.Metadata},
		{"metadata as AAAA beside A", []string{"127.0.0.1", "fd00:ec2::254"}, "127.0.0.0/8", guard.Metadata},
		{"metadata in NAT64", []string{"127.0.0.1", "64:ff9b::a9fe:a9fe"}, "127.0.0.0/8", guard.Metadata},
		{"listed", []string{"127.0.0.1"}, "127.0.0.0/8", reached},
		{"listed exactly", []string{"127.0.0.1"}, "127.0.0.1/32", reached},
		{"private beside listed", []string{"10.0.0.5", "127.0.0.1"}, "127.0.0.0/8", reached},
		{"mapped and listed", []string{"::ffff:127.0.0.1"}, "127.0.0.0/8", reached},
		{"list of another network", []string{"127.0.0.1"}, "10.0.0.0/8", guard.Loopback},
		{"listed IPv4 doesn't list its NAT64 form", []string{"64:ff9b::7f00:1"}, "127.0.0.0/8", guard.Loopback},
		{"metadata, all of IPv4 listed", []string{"169.254.169.254"}, "0.0.0.0/0", guard.Metadata},
	}
	at, accepted := listen(t, "127.0.0.1:0")
	connected := 0
	for _, c := range cases {
		d := &guard.Dialer{Lookup: answers(t, zone(c.addrs...))}
		if c.allow != "" {
			d.AllowCIDRs = prefixes(c.allow)
		}
		conn, err := d.DialContext(t.Context(), host(t, "allowed.test"), at.Port())
		if c.want == reached {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			conn.Close()
			connected++
			continue
		}
		var denied *guard.DeniedError
		if !errors.As(err, &denied) || denied.Class != c.want {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	if n := accepted(); n > connected {
		t.Errorf("%d connections for %d that were allowed", n, connected)
	}
}

// Case: B12
func TestCNAMEToInternalHost(t *testing.T) {
	t.Parallel()
	lookup := answers(t, func(q dns.Question) []string {
		return append([]string{q.Name + " 0 IN CNAME internal.corp.test."}, zone("10.0.0.5")(dns.Question{Name: "internal.corp.test.", Qtype: q.Qtype})...)
	})
	_, err := (&guard.Dialer{Lookup: lookup}).DialContext(t.Context(), host(t, "allowed.test"), 443)
	denied(t, err, guard.Private)
}

func TestNoSuchName(t *testing.T) {
	t.Parallel()
	_, err := (&guard.Dialer{Lookup: answers(t, zone())}).DialContext(t.Context(), host(t, "nothing.test"), 443)
	var dnsErr *net.DNSError
	var refused *guard.DeniedError
	if !errors.As(err, &dnsErr) || errors.As(err, &refused) || guard.IsTimeout(err) {
		t.Errorf("got %v", err)
	}
}

// Ledger: ED-8
// Case: B10
func TestRebindingReachesNothing(t *testing.T) {
	t.Parallel()
	canary, hits := listen(t, "127.0.0.1:0")
	decoy, err := net.Listen("tcp", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.77"), canary.Port()).String())
	if err != nil {
		t.Fatal(err)
	}
	defer decoy.Close()
	var queries atomic.Int64
	// The listed address first, so that a check passes; loopback's first
	// address, which isn't listed, to whoever asks again.
	lookup := answers(t, func(q dns.Question) []string {
		if q.Qtype != dns.TypeA {
			return nil
		}
		if queries.Add(1)%2 == 1 {
			return zone("127.0.0.77")(q)
		}
		return zone("127.0.0.1")(q)
	})
	d := &guard.Dialer{Lookup: lookup, AllowCIDRs: prefixes("127.0.0.77/32")}
	const tries = 1000
	for range tries {
		conn, err := d.DialContext(t.Context(), host(t, "rebind.test"), canary.Port())
		if err != nil {
			denied(t, err, guard.Loopback)
			continue
		}
		if got := conn.RemoteAddr().String(); got != decoy.Addr().String() {
			t.Fatalf("connected to %s", got)
		}
		conn.Close()
		if c, err := decoy.Accept(); err == nil {
			c.Close()
		}
	}
	if hits() != 0 {
		t.Errorf("%d connections reached the canary", hits())
	}
	if n := queries.Load(); n != tries {
		t.Errorf("%d look-ups for %d connections: the name was resolved again", n, tries)
	}
}

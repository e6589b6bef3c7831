package guard_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sallyport/sallyport/edge/guard"
	"github.com/sallyport/sallyport/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func host(t testing.TB, s string) policy.Host {
	t.Helper()
	h, err := policy.CanonicalHost(s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// listen accepts on addr and counts.
func listen(t *testing.T, addr string) (at netip.AddrPort, accepted func() int) {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	counts := make(chan int, 1)
	counts <- 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			counts <- <-counts + 1
			c.Close()
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	return ln.Addr().(*net.TCPAddr).AddrPort(), func() int { n := <-counts; counts <- n; return n }
}

func fixed(addrs ...string) func(context.Context, string) ([]netip.Addr, error) {
	return func(context.Context, string) ([]netip.Addr, error) {
		var out []netip.Addr
		for _, a := range addrs {
			out = append(out, netip.MustParseAddr(a))
		}
		return out, nil
	}
}

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range list {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

func denied(t *testing.T, err error, class guard.Class) {
	t.Helper()
	var d *guard.DeniedError
	if !errors.As(err, &d) || d.Class != class {
		t.Errorf("got %v, want denied as %v", err, class)
	}
}

// Ledger: ED-7
// Case: B12
func TestLiteralsNeedAPin(t *testing.T) {
	t.Parallel()
	at, accepted := listen(t, "127.0.0.1:0")
	literal := host(t, "127.0.0.1")
	d := &guard.Dialer{AllowCIDRs: prefixes("127.0.0.0/8")}
	_, err := d.DialContext(t.Context(), literal, at.Port())
	denied(t, err, guard.Loopback)
	if accepted() != 0 {
		t.Error("connected")
	}
	d.Pins = map[guard.HostPort]netip.AddrPort{{Host: literal, Port: at.Port()}: at}
	c, err := d.DialContext(t.Context(), literal, at.Port())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// A name can have thousands of addresses: one request must not become a
// connection attempt to each.
func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	at, accepted := listen(t, "127.0.0.1:0")
	var addrs []string
	for i := range 100 {
		addrs = append(addrs, netip.AddrFrom4([4]byte{127, 1, 1, byte(i + 1)}).String())
	}
	d := &guard.Dialer{AllowCIDRs: prefixes("127.0.0.0/8"), Lookup: fixed(append(addrs, "127.0.0.1")...)}
	if c, err := d.DialContext(t.Context(), host(t, "many.test"), at.Port()); err == nil {
		c.Close()
		t.Error("the 101st address was dialled")
	}
	if accepted() != 0 {
		t.Error("connected")
	}
	d.Lookup = fixed(append(addrs[:10], "127.0.0.1")...)
	c, err := d.DialContext(t.Context(), host(t, "some.test"), at.Port())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	d.Lookup = fixed(append(addrs, "169.254.169.254")...)
	_, err = d.DialContext(t.Context(), host(t, "many.test"), at.Port())
	denied(t, err, guard.Metadata)
}

func TestPinIsExact(t *testing.T) {
	t.Parallel()
	at, _ := listen(t, "127.0.0.1:0")
	name := host(t, "internal.test")
	d := &guard.Dialer{
		Pins: map[guard.HostPort]netip.AddrPort{
			{Host: name, Port: 443}: at,
			{Host: name, Port: 444}: netip.MustParseAddrPort("169.254.169.254:80"),
			{Host: name, Port: 445}: netip.MustParseAddrPort("[::ffff:169.254.169.254]:80"),
			{Host: name, Port: 446}: {},
		},
		Lookup: fixed("127.0.0.1"),
	}
	c, err := d.DialContext(t.Context(), name, 443)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.RemoteAddr().String(); got != at.String() {
		t.Errorf("connected to %s, not %s", got, at)
	}
	c.Close()
	for port, class := range map[uint16]guard.Class{444: guard.Metadata, 445: guard.Metadata, 446: guard.Invalid, at.Port(): guard.Loopback} {
		_, err := d.DialContext(t.Context(), name, port)
		denied(t, err, class)
	}
	_, err = d.DialContext(t.Context(), host(t, "other.test"), 443)
	denied(t, err, guard.Loopback)
}

// Case: B31
func TestOwnListenersAreRefused(t *testing.T) {
	t.Parallel()
	at, accepted := listen(t, "127.0.0.1:0")
	name := host(t, "self.test")
	for _, own := range []netip.AddrPort{at, netip.AddrPortFrom(netip.IPv4Unspecified(), at.Port()), netip.AddrPortFrom(netip.IPv6Unspecified(), at.Port()),
		netip.AddrPortFrom(netip.MustParseAddr("::ffff:127.0.0.1"), at.Port())} {
		d := &guard.Dialer{
			AllowCIDRs: prefixes("127.0.0.0/8"), Own: []netip.AddrPort{own}, Lookup: fixed("127.0.0.1"),
			Pins: map[guard.HostPort]netip.AddrPort{{Host: name, Port: 1}: at},
		}
		for _, port := range []uint16{at.Port(), 1} {
			_, err := d.DialContext(t.Context(), name, port)
			denied(t, err, guard.Own)
		}
	}
	if accepted() != 0 {
		t.Error("the edge dialled itself")
	}
	// Another address with the same port isn't the edge.
	d := &guard.Dialer{AllowCIDRs: prefixes("127.0.0.0/8"), Own: []netip.AddrPort{netip.AddrPortFrom(netip.MustParseAddr("127.0.0.9"), at.Port())}, Lookup: fixed("127.0.0.1")}
	c, err := d.DialContext(t.Context(), name, at.Port())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestRefusedAddressFallsToTheNext(t *testing.T) {
	t.Parallel()
	at, _ := listen(t, "127.0.0.1:0")
	d := &guard.Dialer{AllowCIDRs: prefixes("127.0.0.0/8"), Lookup: fixed("10.0.0.1", "127.0.0.2", "127.0.0.1")}
	c, err := d.DialContext(t.Context(), host(t, "many.test"), at.Port())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.RemoteAddr().String(); got != at.String() {
		t.Errorf("connected to %s", got)
	}
}

// silent is a listener whose backlog is full: the kernel drops further SYNs.
func silent(t *testing.T, addr string) netip.AddrPort {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: netip.MustParseAddr(addr).As4()}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	sa, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	at := netip.AddrPortFrom(netip.MustParseAddr(addr), uint16(sa.(*syscall.SockaddrInet4).Port))
	for range 10 {
		c, err := net.DialTimeout("tcp", at.String(), 100*time.Millisecond)
		if err != nil {
			return at
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Fatal("the backlog doesn't fill")
	return at
}

func TestSilentAddressIsOvertaken(t *testing.T) {
	t.Parallel()
	slow := silent(t, "127.0.0.3")
	ln, err := net.Listen("tcp", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.4"), slow.Port()).String())
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	d := &guard.Dialer{AllowCIDRs: prefixes("127.0.0.0/8"), Lookup: fixed("127.0.0.3", "127.0.0.4")}
	c, err := d.DialContext(t.Context(), host(t, "slow.test"), slow.Port())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.RemoteAddr().String(); got != ln.Addr().String() {
		t.Errorf("connected to %s", got)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	slow := silent(t, "127.0.0.5")
	d := &guard.Dialer{AllowCIDRs: prefixes("127.0.0.0/8"), Lookup: fixed("127.0.0.5"), Timeout: 50 * time.Millisecond}
	_, err := d.DialContext(t.Context(), host(t, "slow.test"), slow.Port())
	if !guard.IsTimeout(err) {
		t.Errorf("connection: %v", err)
	}
	d.Lookup = func(ctx context.Context, _ string) ([]netip.Addr, error) {
		<-ctx.Done()
		return nil, errors.New("gave up")
	}
	if _, err := d.DialContext(t.Context(), host(t, "slow.test"), 443); !guard.IsTimeout(err) {
		t.Errorf("look-up: %v", err)
	}
	d.Lookup = fixed("127.0.0.6")
	if _, err := d.DialContext(t.Context(), host(t, "closed.test"), 1); err == nil || guard.IsTimeout(err) {
		t.Errorf("closed port: %v", err)
	}
}

func TestZeroHostIsDenied(t *testing.T) {
	t.Parallel()
	_, err := new(guard.Dialer).DialContext(t.Context(), policy.Host{}, 443)
	denied(t, err, guard.Invalid)
}

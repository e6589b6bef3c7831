package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/sallyport/sallyport/policy"
)

// DefaultTimeout bounds a look-up and the connection attempts after it
// (decision 28).
const DefaultTimeout = 10 * time.Second

// HostPort is a destination as a sandbox names it.
type HostPort struct {
	Host policy.Host
	Port uint16
}

// DeniedError says that a host leads only to addresses that may not be
// dialled, or to one that forbids the whole answer. Addr and Class are for the
// operator's log; the sandbox learns neither.
type DeniedError struct {
	Host  policy.Host
	Addr  netip.Addr
	Class Class
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("dial %s: address %s is refused: %s", e.Host, e.Addr, e.Class)
}

// Dialer connects to hosts at addresses that may be reached. The zero value
// permits public addresses only. It is safe for concurrent use as long as its
// fields don't change.
type Dialer struct {
	// AllowCIDRs are networks that names may lead to although they aren't
	// public. They open nothing to an address that a sandbox typed: that needs
	// a pin (case B12). No entry opens a metadata address.
	AllowCIDRs []netip.Prefix
	// Pins are the operator's own destinations: a host and port found here is
	// neither resolved nor judged, but dialled at exactly that address and
	// port, unless that is a metadata address or a listener of the edge.
	Pins map[HostPort]netip.AddrPort
	// Own are the listeners of the edge and the control plane. They are never
	// dialled; an unspecified address stands for every address of this machine.
	Own []netip.AddrPort
	// Lookup resolves a name to addresses. nil means [SystemLookup].
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	// Timeout is for look-up and connection together; zero means
	// DefaultTimeout.
	Timeout time.Duration
}

// SystemLookup resolves name, which is never completed with a search domain of
// this machine, with the system's resolver.
func SystemLookup(ctx context.Context, name string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name+".")
}

// DialContext connects to host at port over TCP. It resolves the name once and
// tries the first addresses that survive, staggered, until one answers. The error is
// a *[DeniedError] if none may be dialled; else it is of the look-up or of the
// attempts, and [IsTimeout] tells a time-out from the rest.
func (d *Dialer) DialContext(ctx context.Context, host policy.Host, port uint16) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(d.Timeout, DefaultTimeout))
	defer cancel()
	if pin, ok := d.Pins[HostPort{host, port}]; ok {
		return d.dialPin(ctx, host, pin)
	}
	addrs, err := d.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	targets, err := d.permitted(host, port, addrs)
	if err != nil {
		return nil, err
	}
	return race(ctx, targets, func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		return d.dial(ctx, to, func() error { return d.judge(host, to) })
	})
}

// CheckLiteral returns a *[DeniedError] if host is an address that may not be
// dialled at port. Names pass: this is for whoever has them resolved elsewhere.
func (d *Dialer) CheckLiteral(host policy.Host, port uint16) error {
	if !host.IP().IsValid() {
		return nil
	}
	return d.judge(host, netip.AddrPortFrom(host.IP(), port))
}

// IsTimeout reports whether an error of DialContext means that the host didn't
// answer in time.
func IsTimeout(err error) bool {
	var dns *net.DNSError
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, syscall.ETIMEDOUT) || errors.As(err, &dns) && dns.IsTimeout
}

func (d *Dialer) dialPin(ctx context.Context, host policy.Host, pin netip.AddrPort) (net.Conn, error) {
	pin = netip.AddrPortFrom(pin.Addr().Unmap(), pin.Port())
	judge := func() error { return d.forbidden(host, pin) }
	if err := judge(); err != nil {
		return nil, err
	}
	return d.dial(ctx, pin, judge)
}

func (d *Dialer) resolve(ctx context.Context, host policy.Host) ([]netip.Addr, error) {
	if host.IsZero() {
		return nil, &DeniedError{Host: host, Class: Invalid}
	}
	if ip := host.IP(); ip.IsValid() {
		return []netip.Addr{ip}, nil
	}
	lookup := d.Lookup
	if lookup == nil {
		lookup = SystemLookup
	}
	addrs, err := lookup(ctx, host.String())
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", host, errors.Join(err, ctx.Err()))
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("resolve %s: %w", host, &net.DNSError{Err: "no address", Name: host.String(), IsNotFound: true})
	}
	return addrs, nil
}

// permitted returns what may be dialled of addrs. A metadata address among
// them condemns all: whoever controls that answer means harm.
func (d *Dialer) permitted(host policy.Host, port uint16, addrs []netip.Addr) ([]netip.AddrPort, error) {
	var targets []netip.AddrPort
	var first error
	for _, addr := range addrs {
		to := netip.AddrPortFrom(addr.Unmap(), port)
		err := d.judge(host, to)
		if err == nil {
			targets = append(targets, to)
			continue
		}
		if Classify(addr) == Metadata {
			return nil, err
		}
		first = cmp.Or(first, err)
	}
	if len(targets) == 0 {
		return nil, first
	}
	return targets, nil
}

// judge returns a *DeniedError if to may not be dialled for host.
func (d *Dialer) judge(host policy.Host, to netip.AddrPort) error {
	if err := d.forbidden(host, to); err != nil {
		return err
	}
	class := Classify(to.Addr())
	if class == Public && to.Addr().Zone() == "" {
		return nil
	}
	listed := func(p netip.Prefix) bool { return p.Contains(to.Addr()) }
	if class.Listable() && !host.IP().IsValid() && slices.ContainsFunc(d.AllowCIDRs, listed) {
		return nil
	}
	return &DeniedError{Host: host, Addr: to.Addr(), Class: class}
}

// forbidden returns a *DeniedError for what no configuration permits.
func (d *Dialer) forbidden(host policy.Host, to netip.AddrPort) error {
	switch class := Classify(to.Addr()); {
	case class == Invalid || class == Metadata:
		return &DeniedError{Host: host, Addr: to.Addr(), Class: class}
	case d.isOwn(to):
		return &DeniedError{Host: host, Addr: to.Addr(), Class: Own}
	}
	return nil
}

func (d *Dialer) isOwn(to netip.AddrPort) bool {
	return slices.ContainsFunc(d.Own, func(own netip.AddrPort) bool {
		if own.Port() != to.Port() {
			return false
		}
		if own.Addr().IsUnspecified() {
			return isLocal(to.Addr())
		}
		return own.Addr().Unmap() == to.Addr()
	})
}

// isLocal reports whether addr is this machine's. When that can't be found
// out, it is.
func isLocal(addr netip.Addr) bool {
	if addr.IsLoopback() || addr.IsUnspecified() {
		return true
	}
	locals, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(locals, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Addr().Unmap() == addr
	})
}

var errOtherAddress = errors.New("about to connect to another address than the one that was judged")

// dial connects to one address. judge runs between socket(2) and connect(2),
// on the address that the kernel is about to be given.
func (d *Dialer) dial(ctx context.Context, to netip.AddrPort, judge func() error) (net.Conn, error) {
	dialer := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		if got, err := netip.ParseAddrPort(address); err != nil || got != to {
			return errOtherAddress
		}
		return judge()
	}}
	return dialer.DialContext(ctx, "tcp", to.String())
}

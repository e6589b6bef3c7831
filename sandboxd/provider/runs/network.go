package runs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// transparentAddr is where the rules send what goes to any address but 127/8.
const transparentAddr = "127.0.0.1:15001"

// loopbackIndex is the index that every network namespace gives its lo.
const loopbackIndex = 1

// Network is a prepared network namespace and the sockets that were opened in
// it. The caller passes the sockets to the edge and closes its copies when the
// sandbox has ended.
type Network struct {
	Proxy       *net.TCPListener // ProxyAddr: explicit proxy
	Transparent *net.TCPListener // every TCP port of every address but 127/8; LocalAddr of a connection is where it was going
	DNS         *net.UDPConn     // port 53 of every address
	// Broker is an abstract unix socket, which is as much the namespace's own
	// as the others: there is no file to mount, guard or copy (unix(7)).
	Broker *net.UnixListener

	ns *os.File
}

// Network prepares a network namespace and opens the sockets in it. The
// namespace belongs to the caller's user namespace, so that root of a sandbox,
// who lives in another, can change nothing about it.
func (p *Provider) Network(ctx context.Context) (*Network, error) {
	n := &Network{}
	err := onThread(func() error { return n.open(ctx) })
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare network namespace: %w", err), n.Close())
	}
	return n, nil
}

// Close closes the sockets and lets go of the namespace, which ends once no
// process is in it. Closing twice is no error.
func (n *Network) Close() error {
	var errs []error
	if n.Proxy != nil {
		errs = append(errs, n.Proxy.Close())
	}
	if n.Transparent != nil {
		errs = append(errs, n.Transparent.Close())
	}
	if n.DNS != nil {
		errs = append(errs, n.DNS.Close())
	}
	if n.Broker != nil {
		errs = append(errs, n.Broker.Close())
	}
	if n.ns != nil {
		errs = append(errs, n.ns.Close())
	}
	var kept []error
	for _, err := range errs {
		if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrClosed) {
			kept = append(kept, err)
		}
	}
	return errors.Join(kept...)
}

// open runs on a thread of its own, which it moves to the new namespace.
func (n *Network) open(ctx context.Context) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	ns, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	n.ns = ns
	if err := setSysctls(); err != nil {
		return err
	}
	if err := routeAllToLoopback(); err != nil {
		return err
	}
	if err := n.listen(ctx); err != nil {
		return err
	}
	return redirectToListener()
}

// setSysctls makes lo answer no ping, and lets the user of a sandbox, who has
// no capability over this namespace, listen on low ports.
func setSysctls() error {
	for path, value := range map[string]string{
		"/proc/sys/net/ipv4/icmp_echo_ignore_all":       "1",
		"/proc/sys/net/ipv4/ip_unprivileged_port_start": "0",
	} {
		if err := os.WriteFile(path, []byte(value), 0); err != nil {
			return err
		}
	}
	return nil
}

// routeAllToLoopback makes every IPv4 address local ("AnyIP"). IPv6 gets no
// route, so that all of it but ::1 is unreachable at once.
func routeAllToLoopback() error {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("open netlink: %w", err)
	}
	defer h.Close()
	lo := &netlink.Device{LinkAttrs: netlink.LinkAttrs{Index: loopbackIndex, Name: "lo"}}
	if err := h.LinkSetUp(lo); err != nil {
		return fmt.Errorf("set lo up: %w", err)
	}
	err = h.RouteAdd(&netlink.Route{
		LinkIndex: loopbackIndex,
		Dst:       &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)},
		Type:      unix.RTN_LOCAL,
		Scope:     netlink.SCOPE_HOST,
		Table:     unix.RT_TABLE_LOCAL,
	})
	if err != nil {
		return fmt.Errorf("route every address to lo: %w", err)
	}
	return nil
}

func (n *Network) listen(ctx context.Context) error {
	var err error
	if n.Proxy, err = listenTCP(ctx, ProxyAddr, nil); err != nil {
		return err
	}
	if n.Transparent, err = listenTCP(ctx, transparentAddr, setTransparent); err != nil {
		return err
	}
	if n.DNS, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4zero, Port: 53}); err != nil {
		return err
	}
	n.Broker, err = net.ListenUnix("unix", &net.UnixAddr{Name: BrokerAddr, Net: "unix"})
	return err
}

func listenTCP(ctx context.Context, addr string, control func(network, address string, c syscall.RawConn) error) (*net.TCPListener, error) {
	lc := net.ListenConfig{Control: control}
	// Since Go 1.24 listeners are MPTCP, which tproxy doesn't hand packets to.
	lc.SetMultipathTCP(false)
	l, err := lc.Listen(ctx, "tcp4", addr)
	if err != nil {
		return nil, err
	}
	return l.(*net.TCPListener), nil
}

// setTransparent lets the listener answer for addresses that aren't its own.
func setTransparent(_, _ string, c syscall.RawConn) error {
	var err error
	cerr := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_TRANSPARENT, 1)
	})
	if err != nil {
		return fmt.Errorf("set IP_TRANSPARENT: %w", err)
	}
	return cerr
}

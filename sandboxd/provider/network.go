package provider

import "syscall"

// Network is a network that leads nowhere but to its own listening sockets. A
// connection's sandbox is known by the socket that it arrived on.
type Network interface {
	// Listeners returns the sockets; they stay the network's.
	Listeners() []Listener
	// ProxyURL is the explicit proxy as the sandbox names it; empty means that
	// there is none.
	ProxyURL() string
	// Close closes the sockets. Closing twice is no error.
	Close() error
}

// Kind says what a listener serves. The names are those of the edge's control
// protocol.
type Kind string

// The kinds.
const (
	Proxy       Kind = "proxy"       // TCP: CONNECT and absolute-form requests
	Transparent Kind = "transparent" // TCP: LocalAddr is where the connection was going
	DNS         Kind = "dns"         // UDP, port 53 of every address
	Broker      Kind = "broker"      // unix stream: git credentials
)

// A Listener is a socket inside a sandbox's network: a *net.TCPListener, for
// DNS a *net.UDPConn, for Broker a *net.UnixListener.
type Listener struct {
	Kind   Kind
	Socket syscall.Conn
}

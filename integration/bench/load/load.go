// Package load measures a proxy from outside: an origin, and a closed loop of
// clients that check every response they get.
//
// [ServeOrigin] answers; [Target.Run] drives one [Scenario] through one proxy
// and returns what it took. Client and origin speak HTTP by themselves, because
// they have to cost less than the proxies that they measure. Nothing of it is
// part of the product.
package load

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strconv"
	"time"
)

// Target is one way to the origin.
type Target struct {
	Name  string
	Proxy string // HOST:PORT; empty goes to the origin directly
	PID   int    // of the process whose time and memory count; 0: none
	Roots *x509.CertPool
	// Credentials is the value of Proxy-Authorization; empty sends none.
	Credentials string
	// Authorization is the value that each request carries.
	Authorization string
	// Proof is what the origin answers if it has seen what it should, see
	// [Proof]; empty doesn't ask.
	Proof string
	// Origin and PlainOrigin are the listeners' addresses. Names below
	// [Domain] lead there, whatever they are.
	Origin, PlainOrigin string
}

// Domain is that of every name on the origin's certificates.
const Domain = "bench.test"

// Host is the name that has a secret bound to it.
const Host = "api." + Domain

// Scenario is what is done. Fields that don't matter to a kind are ignored.
type Scenario struct {
	Name    string
	Kind    Kind
	Workers int  // connections at a time
	Streams int  // on each, with HTTP/2
	MiB     int  // of each bulk transfer
	Hosts   int  // how many names are used in turn; 0: only Host
	Resume  bool // TLS sessions
	Tunnels int  // that rest

	Host string // instead of the default
}

// Kind tells scenarios apart.
type Kind string

// What scenarios do.
const (
	KeepAlive Kind = "keep-alive" // HTTP/1.1, one request after another on each tunnel
	Fresh     Kind = "fresh"      // CONNECT, handshake, one request, and again
	Streams   Kind = "streams"    // HTTP/2
	Down      Kind = "down"       // bulk, counted in MiB
	Up        Kind = "up"
	Plain     Kind = "plain" // absolute-form over cleartext
	Idle      Kind = "idle"  // tunnels at rest
)

// Bounds say how long a run takes: until both are reached.
type Bounds struct {
	Warm, Measure time.Duration
	Operations    int64 // at least
}

// Result is what one run has shown.
type Result struct {
	Operations int64 // requests, or MiB
	Errors     int64
	Err        error // the first
	Rate       float64
	P50, P99   time.Duration
	CPU        time.Duration // of the proxy, per operation
	// KiB is what each tunnel at rest takes.
	KiB float64
}

// name returns the i-th name of a scenario.
func (s Scenario) name(i int) string {
	switch {
	case s.Hosts > 0:
		return "h" + strconv.Itoa(i%s.Hosts) + "." + Domain
	case s.Host != "":
		return s.Host
	}
	return Host
}

func (t *Target) port(plain bool) string {
	addr := t.Origin
	if plain {
		addr = t.PlainOrigin
	}
	_, port, _ := net.SplitHostPort(addr)
	return port
}

func (t *Target) clientTLS(s Scenario, protocol string) *tls.Config {
	c := &tls.Config{RootCAs: t.Roots, MinVersion: tls.VersionTLS12, NextProtos: []string{protocol}}
	if s.Resume {
		c.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	return c
}

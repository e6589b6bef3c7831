package peer

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/sallyport/sallyport/integration/bench/load"
	"github.com/sallyport/sallyport/integration/harness"
)

// SelfCommand is the first argument of a program that is to call [ServeSelf]
// with the others.
const SelfCommand = "self"

// ServeSelf is the origin or one of our own proxies, until standard input ends.
func ServeSelf(args []string) error {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	switch {
	case len(args) == 2 && args[0] == "origin":
		return serveOrigin(args[1])
	case len(args) == 3 && args[0] == "blind":
		return serveBlind(args[1], args[2])
	case len(args) == 5 && args[0] == "goproxy":
		return serveGoproxy(args[1:])
	case len(args) == 4 && args[0] == "engine":
		return serveEngine(args[1:])
	}
	return fmt.Errorf("no such part: %q", args)
}

type originReady struct{ Secure, Plain string }

type proxyReady struct{ Addr string }

func ready(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }

func listen() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

// serveOrigin writes the authority of its certificate to a file.
func serveOrigin(caFile string) error {
	ca, err := harness.NewCA()
	if err != nil {
		return err
	}
	leaf, err := ca.Issue("*."+load.Domain, load.Domain)
	if err != nil {
		return err
	}
	if err := os.WriteFile(caFile, ca.PEM(), 0o644); err != nil { //nolint:gosec // public
		return err
	}
	secure, err := listen()
	if err != nil {
		return err
	}
	plain, err := listen()
	if err != nil {
		return err
	}
	if err := ready(originReady{secure.Addr().String(), plain.Addr().String()}); err != nil {
		return err
	}
	return load.ServeOrigin(secure, plain, &tls.Config{Certificates: []tls.Certificate{leaf}, MinVersion: tls.VersionTLS12})
}

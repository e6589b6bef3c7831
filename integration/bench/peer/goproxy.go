package peer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/elazarl/goproxy"

	"github.com/sallyport/sallyport/integration/bench/load"
)

// Goproxy starts goproxy's own interception, with what its users have to add to
// make it fast: connections to origins are kept, and certificates.
func (w *World) Goproxy() (*load.Target, error) {
	var at proxyReady
	pid, err := w.self(&at, "goproxy", w.base.Origin, w.base.PlainOrigin, w.path("mitm"), w.path("origin.pem"))
	if err != nil {
		return nil, err
	}
	return w.target("goproxy", at.Addr, pid), nil
}

// certStore keeps every leaf.
type certStore struct{ leaves sync.Map }

func (s *certStore) Fetch(host string, gen func() (*tls.Certificate, error)) (*tls.Certificate, error) {
	if cert, ok := s.leaves.Load(host); ok {
		return cert.(*tls.Certificate), nil
	}
	cert, err := gen()
	if err == nil {
		s.leaves.Store(host, cert)
	}
	return cert, err
}

// serveGoproxy takes the two origins, the folder of the CA and the origin's.
func serveGoproxy(args []string) error {
	secure, plain := args[0], args[1]
	ca, err := tls.LoadX509KeyPair(filepath.Join(args[2], "authority", "ca.pem"), filepath.Join(args[2], "authority", "ca-key.pem"))
	if err != nil {
		return err
	}
	if ca.Leaf, err = x509.ParseCertificate(ca.Certificate[0]); err != nil {
		return err
	}
	pem, err := os.ReadFile(args[3])
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)

	p := goproxy.NewProxyHttpServer()
	p.CertStore = &certStore{}
	_, plainPort, _ := net.SplitHostPort(plain)
	p.Tr = &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			to := secure
			if strings.HasSuffix(addr, ":"+plainPort) {
				to = plain
			}
			return (&net.Dialer{}).DialContext(ctx, network, to)
		},
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(0)},
		MaxIdleConnsPerHost: 512,
		DisableCompression:  true,
	}
	mitm := &goproxy.ConnectAction{Action: goproxy.ConnectMitm, TLSConfig: goproxy.TLSConfigFromCA(&ca)}
	p.OnRequest().HandleConnectFunc(func(host string, _ *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
		return mitm, host
	})
	ln, err := listen()
	if err != nil {
		return err
	}
	if err := ready(proxyReady{ln.Addr().String()}); err != nil {
		return err
	}
	return http.Serve(ln, p) //nolint:gosec // its clients are ours
}

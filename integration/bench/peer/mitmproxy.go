package peer

import (
	"fmt"
	"net"
	"os"

	"github.com/sallyport/sallyport/integration/bench/load"
)

// redirect sends every connection to the origin, whatever its name.
const redirect = `def server_connect(data):
    data.server.address = ("127.0.0.1", data.server.address[1])
`

// Mitmproxy starts mitmdump as it comes, but silent.
func (w *World) Mitmproxy() (*load.Target, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	dir := w.path("mitmproxy")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if err := w.joinedCA(w.path("mitmproxy", "mitmproxy-ca.pem")); err != nil {
		return nil, err
	}
	if err := os.WriteFile(w.path("mitmproxy", "redirect.py"), []byte(redirect), 0o600); err != nil {
		return nil, err
	}
	pid, err := w.daemon(addr, "mitmdump", "--quiet",
		"--listen-host", host, "--listen-port", port, "--scripts", w.path("mitmproxy", "redirect.py"),
		"--set", "confdir="+dir, "--set", "flow_detail=0", "--set", "termlog_verbosity=error",
		"--set", "ssl_verify_upstream_trusted_ca="+w.path("origin.pem"))
	if err != nil {
		return nil, fmt.Errorf("start mitmproxy: %w", err)
	}
	return w.target("mitmproxy", addr, pid), nil
}

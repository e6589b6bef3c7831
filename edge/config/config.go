// Package config reads the edge's configuration file.
//
// [Load] does all of it: it decodes strictly, checks every value, reads the
// token files and compiles each static boundary once, so that whatever it
// returns can be served. It opens no listener and makes no directory.
//
// Security promise: a file with any mistake in it is refused as a whole. A
// misspelt key is a mistake; nothing is skipped, nothing is guessed.
package config

import (
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/guard"
	"github.com/sallyport/sallyport/edge/strict"
	"github.com/sallyport/sallyport/policy"
)

// Config is a checked configuration. Paths in it are absolute.
type Config struct {
	// State is the directory of the CA key and the embedded secret store.
	State string
	// Audit is the file that gets one line per crossing, "-" for standard
	// error. The default is audit.jsonl in State.
	Audit string
	// User is whom an edge that was started as root becomes; nil means that
	// the file doesn't say.
	User     *User
	Listen   Listen
	Upstream Upstream
	Sources  Sources
	Timeouts Timeouts
	// Limits are those of boundaries that have none of their own.
	Limits boundary.Limits
	// AllTunnels bounds the tunnels of all boundaries; zero means the edge's
	// own default.
	AllTunnels int
	// Tracing says where a span of each crossing goes; nil means nowhere.
	Tracing *Tracing
	// NoIntercept allows hosts whose TLS passes as it is; nil means none.
	NoIntercept *policy.Policy
	// InterceptBoundOnly: the TLS of hosts without a binding passes as it is.
	InterceptBoundOnly bool
	// Issuers mint git credentials, by the name that grants use.
	Issuers map[string]Issuer
	// Boundaries are the static ones, by distinct ids.
	Boundaries []Static
}

// Static is a boundary of the configuration, already checked with
// boundary.Compile.
type Static struct {
	boundary.Spec
	// TokenFile is the file that Spec.TokenSHA256 is of; empty for none.
	TokenFile string
}

// Listen says where the edge listens. Empty means not at all.
type Listen struct {
	Proxy   string // HOST:PORT of the explicit proxy for clients with credentials
	Control string // path of the control socket
	Metrics string // HOST:PORT of metrics and health checks
}

// Upstream says how the world is reached.
type Upstream struct {
	// AllowCIDRs may be dialled although the guard would refuse them.
	AllowCIDRs []netip.Prefix
	// Resolve pins destinations to an address; it isn't looked up.
	Resolve map[guard.HostPort]netip.AddrPort
	// ExtraRoots are PEM files of CAs trusted besides the system's.
	ExtraRoots []string
	// DeniedPorts can't be reached on any host. The default is 25; an empty
	// list denies none.
	DeniedPorts []uint16
	// OpaqueConnect lets protocols that are neither TLS nor HTTP through to
	// allowed hosts, on ports other than 443. The default is true.
	OpaqueConnect bool
	// Proxy is a parent proxy with its credentials; nil means none.
	Proxy *url.URL
	// ProxyCredentialsFile is where they were read; empty for none.
	ProxyCredentialsFile string
}

// Timeouts bound the waits of the edge; zero means the edge's own default.
type Timeouts struct {
	Header         time.Duration
	Handshake      time.Duration
	Dial           time.Duration
	ResponseHeader time.Duration
	Idle           time.Duration
	Drain          time.Duration
}

// maxFile bounds the configuration and each file that it names.
const maxFile = 8 << 20

// Load reads the configuration at path. Relative paths in it are relative to
// its directory. Errors name the file, the place in it and what was expected.
func Load(path string) (*Config, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	var d Document
	if err := strict.YAML(data, &d); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c, err := d.Check(filepath.Dir(abs))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// readFile reads a file of at most maxFile bytes.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: longer than %d bytes", path, maxFile)
	}
	return data, nil
}

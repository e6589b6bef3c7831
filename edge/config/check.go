package config

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"github.com/sallyport/sallyport/edge/strict"
)

// checker turns a Document into a Config. dir is the directory that relative
// paths are relative to.
type checker struct{ dir string }

// Check checks every value of d and what it names. Relative paths are relative
// to dir, which is absolute. The error is a *[strict.Error].
func (d Document) Check(dir string) (*Config, error) {
	c := checker{dir}
	if d.State == "" {
		return nil, at("state", "expected a directory")
	}
	config := &Config{State: c.path(d.State)}
	config.Audit = c.audit(d.Audit, config.State)
	var err error
	if config.User, err = parseUser(d.User); err != nil {
		return nil, at("user", "%v", err)
	}
	if config.Listen, err = c.listen(d.Listen); err != nil {
		return nil, err
	}
	if config.Upstream, err = c.upstream(d.Upstream); err != nil {
		return nil, err
	}
	if config.Sources, err = c.sources(d.Sources); err != nil {
		return nil, err
	}
	if config.Timeouts, err = parseTimeouts(d.Timeouts); err != nil {
		return nil, err
	}
	if config.Tracing, err = parseTracing(d.Tracing); err != nil {
		return nil, err
	}
	if err := d.Limits.Check(); err != nil {
		return nil, below("limits", "", err)
	}
	if d.Limits.AllTunnels < 0 {
		return nil, at("limits.all_tunnels", "expected a number from 1 on")
	}
	config.Limits, config.AllTunnels = d.Limits.Limits, d.Limits.AllTunnels
	if err := config.interception(d); err != nil {
		return nil, err
	}
	if config.Issuers, err = c.issuers(d.Issuers); err != nil {
		return nil, err
	}
	if config.Boundaries, err = c.boundaries(d.Boundaries, config.Issuers); err != nil {
		return nil, err
	}
	for i, b := range config.Boundaries {
		if err := config.CheckBindings(b.Spec); err != nil {
			return nil, below(index("boundaries", i), "", err)
		}
	}
	return config, nil
}

// at is an error about the value at path.
func at(path, format string, args ...any) error {
	return &strict.Error{Path: path, Msg: fmt.Sprintf(format, args...)}
}

// path makes p absolute; an empty one stays empty.
func (c checker) path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(c.dir, p)
}

func (c checker) audit(p, state string) string {
	switch p {
	case "":
		return filepath.Join(state, "audit.jsonl")
	case "-":
		return p
	default:
		return c.path(p)
	}
}

func (c checker) listen(d DocumentListen) (Listen, error) {
	if d.Proxy == "" && d.Control == "" {
		return Listen{}, at("listen", "expected proxy, control or both")
	}
	if d.Proxy != "" {
		if err := checkListenAddress(d.Proxy); err != nil {
			return Listen{}, at("listen.proxy", "%v", err)
		}
	}
	if d.Metrics != "" {
		if err := checkListenAddress(d.Metrics); err != nil {
			return Listen{}, at("listen.metrics", "%v", err)
		}
	}
	control := c.path(d.Control)
	if len(control) > maxSocketPath {
		return Listen{}, at("listen.control", "expected a path of at most %d bytes", maxSocketPath)
	}
	return Listen{Proxy: d.Proxy, Control: control, Metrics: d.Metrics}, nil
}

// maxSocketPath is what fits sun_path, unix(7).
const maxSocketPath = 107

// checkListenAddress refuses an address without a host: ":3128" would listen
// on every interface, which nobody should get by leaving something out.
func checkListenAddress(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" {
		return errors.New(`expected HOST:PORT, such as "127.0.0.1:3128"`)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return errors.New("expected a port from 0 to 65535")
	}
	return nil
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

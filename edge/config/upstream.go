package config

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport/sallyport/edge/guard"
	"github.com/sallyport/sallyport/policy"
)

// smtpPort is denied by default (decision 4).
const smtpPort = 25

func (c checker) upstream(d DocumentUpstream) (Upstream, error) {
	u := Upstream{DeniedPorts: []uint16{smtpPort}, OpaqueConnect: true}
	if d.DeniedPorts != nil {
		u.DeniedPorts = *d.DeniedPorts
	}
	if d.OpaqueConnect != nil {
		u.OpaqueConnect = *d.OpaqueConnect
	}
	for i, s := range d.AllowCIDRs {
		prefix, err := netip.ParsePrefix(s)
		if err != nil || prefix != prefix.Masked() {
			return Upstream{}, at(index("upstream.allow_cidrs", i), `expected a network such as "10.0.0.0/8"`)
		}
		u.AllowCIDRs = append(u.AllowCIDRs, prefix)
	}
	var err error
	if u.Resolve, err = parsePins(d.Resolve); err != nil {
		return Upstream{}, err
	}
	u.ProxyCredentialsFile = c.path(d.ProxyCredentialsFile)
	if u.Proxy, err = c.parent(d); err != nil {
		return Upstream{}, err
	}
	for i, p := range d.ExtraRoots {
		file := c.path(p)
		if err := checkRoots(file); err != nil {
			return Upstream{}, at(index("upstream.extra_roots", i), "%v", err)
		}
		u.ExtraRoots = append(u.ExtraRoots, file)
	}
	return u, nil
}

// parent reads the URL of a parent proxy with its credentials.
func (c checker) parent(d DocumentUpstream) (*url.URL, error) {
	if d.Proxy == "" {
		if d.ProxyCredentialsFile != "" {
			return nil, at("upstream.proxy_credentials_file", "there is no upstream.proxy to use them with")
		}
		return nil, nil
	}
	u, err := url.Parse(d.Proxy)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Port() == "" || strings.Trim(u.Path, "/") != "" {
		return nil, at("upstream.proxy", "expected a URL such as \"http://proxy.example.com:3128\"")
	}
	if u.User != nil {
		return nil, at("upstream.proxy", "credentials belong in upstream.proxy_credentials_file")
	}
	u.Path = ""
	if d.ProxyCredentialsFile == "" {
		return u, nil
	}
	data, err := readFile(c.path(d.ProxyCredentialsFile))
	if err != nil {
		return nil, at("upstream.proxy_credentials_file", "%v", err)
	}
	user, password, found := strings.Cut(strings.TrimRight(string(data), "\r\n"), ":")
	if !found || user == "" || strings.ContainsAny(password, "\r\n") {
		return nil, at("upstream.proxy_credentials_file", "expected one line, USER:PASSWORD")
	}
	u.User = url.UserPassword(user, password)
	return u, nil
}

func parsePins(entries map[string]string) (map[guard.HostPort]netip.AddrPort, error) {
	pins := make(map[guard.HostPort]netip.AddrPort, len(entries))
	for key, value := range entries {
		dest, addr, err := parsePin(key, value)
		if _, twice := pins[dest]; err == nil && twice {
			err = errors.New("pinned twice")
		}
		if err != nil {
			return nil, at("upstream.resolve."+strconv.Quote(key), "%v", err)
		}
		pins[dest] = addr
	}
	return pins, nil
}

// parsePin reads one entry of upstream.resolve.
func parsePin(key, value string) (guard.HostPort, netip.AddrPort, error) {
	host, port, err := policy.CanonicalAuthority(key, 0)
	if err != nil {
		return guard.HostPort{}, netip.AddrPort{}, fmt.Errorf(`expected a key such as "name.test:443": %w`, err)
	}
	addr, err := netip.ParseAddrPort(value)
	switch {
	case err != nil || addr.Port() == 0:
		return guard.HostPort{}, netip.AddrPort{}, errors.New(`expected an address and port, such as "127.0.0.1:8443"`)
	case guard.Classify(addr.Addr()) == guard.Metadata:
		return guard.HostPort{}, netip.AddrPort{}, errors.New("the metadata service of a cloud can't be reached")
	}
	return guard.HostPort{Host: host, Port: port}, addr, nil
}

func checkRoots(file string) error {
	data, err := readFile(file)
	if err != nil {
		return err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(data) {
		return fmt.Errorf("expected PEM certificates in %s", file)
	}
	return nil
}

func parseTimeouts(d DocumentTimeouts) (Timeouts, error) {
	var t Timeouts
	for _, one := range []struct {
		key, value string
		into       *time.Duration
	}{
		{"header", d.Header, &t.Header},
		{"handshake", d.Handshake, &t.Handshake},
		{"dial", d.Dial, &t.Dial},
		{"response_header", d.ResponseHeader, &t.ResponseHeader},
		{"idle", d.Idle, &t.Idle},
		{"drain", d.Drain, &t.Drain},
	} {
		if one.value == "" {
			continue
		}
		parsed, err := time.ParseDuration(one.value)
		if err != nil || parsed <= 0 {
			return Timeouts{}, at("timeouts."+one.key, `expected a duration such as "30s"`)
		}
		*one.into = parsed
	}
	return t, nil
}

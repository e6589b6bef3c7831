package harness

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// Registry is a package registry that a tool of this machine is configured
// for. Nothing of ours names one.
type Registry struct {
	URL   string   // as the tool has it
	Hosts []string // that the tool asks
}

// NPM returns npm's configured registry.
func NPM() (Registry, error) {
	out, err := exec.Command("npm", "config", "get", "registry").Output()
	if err != nil {
		return Registry{}, fmt.Errorf("ask npm for its registry: %w", err)
	}
	return registry(strings.TrimSpace(string(out)))
}

// GoProxy returns the first module proxy that go is configured for.
func GoProxy() (Registry, error) {
	out, err := exec.Command("go", "env", "GOPROXY").Output()
	if err != nil {
		return Registry{}, fmt.Errorf("ask go for its proxy: %w", err)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), ",")
	return registry(first)
}

func registry(raw string) (Registry, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return Registry{}, fmt.Errorf("read registry %q: no host", raw)
	}
	return Registry{URL: raw, Hosts: []string{u.Hostname()}}, nil
}

// aptSources are where Debian's own sources stand, the first that exists;
// other files beside them are third parties'.
var aptSources = []string{"/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"}

// Debian returns the file of Debian's own apt sources as its URL, and the hosts
// in it.
func Debian() (Registry, error) {
	for _, path := range aptSources {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		r := Registry{URL: path}
		for _, m := range regexp.MustCompile(`(?m)^(?:deb|URIs:)\s.*?https?://([^/\s]+)`).FindAllSubmatch(text, -1) {
			r.Hosts = append(r.Hosts, string(m[1]))
		}
		if slices.Sort(r.Hosts); len(r.Hosts) > 0 {
			r.Hosts = slices.Compact(r.Hosts)
			return r, nil
		}
	}
	return Registry{}, fmt.Errorf("read apt sources: no Debian source in %s", strings.Join(aptSources, ", "))
}

// CIDRs returns the addresses of the registry's hosts now. A mirror in a
// private network has addresses that the edge refuses unless they are listed.
func (r Registry) CIDRs() ([]string, error) {
	var cidrs []string
	for _, host := range r.Hosts {
		ips, err := net.LookupIP(host)
		if err != nil {
			return nil, fmt.Errorf("resolve registry: %w", err)
		}
		for _, ip := range ips {
			bits := 128
			if ip.To4() != nil {
				bits = 32
			}
			cidrs = append(cidrs, fmt.Sprintf("%s/%d", ip, bits))
		}
	}
	return cidrs, nil
}

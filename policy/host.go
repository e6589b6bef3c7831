package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
)

// MaxHostLen is the length of the longest canonical name in bytes (RFC 1035
// §2.3.4, without the root label), and of the longest glob in characters.
const MaxHostLen = 253

const maxLabelLen = 63

// Host is a canonical host: a lower-case A-label name without a trailing dot,
// or an IP address in its canonical text form. Only [CanonicalHost] and
// [CanonicalAuthority] make one; the zero value is no host and is denied by
// every policy. Hosts are comparable.
type Host struct {
	name string
	ip   netip.Addr
}

// String returns the canonical text, without brackets for IPv6.
func (h Host) String() string { return h.name }

// IP returns the address if the host is an IP literal; otherwise the zero
// Addr, for which IsValid is false.
func (h Host) IP() netip.Addr { return h.ip }

// IsZero reports whether h is no host at all.
func (h Host) IsZero() bool { return h.name == "" }

// CanonicalHost is the one normaliser of host names, for rules and traffic
// alike. It takes a bare host, without a port, and
//
//   - lowers the case, drops one trailing dot and turns Unicode names into
//     A-labels (UTS 46, non-transitional);
//   - takes brackets off an IPv6 address and writes addresses in their
//     canonical form (RFC 5952), an IPv4-mapped one as the IPv4 address that
//     it stands for;
//   - refuses empty and over-long names and labels, labels that begin or end
//     with a hyphen, brackets around anything but IPv6, zones, '%', '@', NUL,
//     spaces and all else that isn't a letter, digit, hyphen or underscore;
//   - refuses whatever only some parsers take for an address: a name whose
//     last label is a number, decimal, octal or hexadecimal ("127.1",
//     "0x7f000001"), unless it is four plain decimal octets.
//
// It is idempotent. Its errors quote s, shortened, and are safe to log.
func CanonicalHost(s string) (Host, error) {
	h, err := canonical(s)
	if err != nil {
		return Host{}, fmt.Errorf("parse host %s: %w", quote(s), err)
	}
	return h, nil
}

func canonical(s string) (Host, error) {
	if s == "" {
		return Host{}, errors.New("it is empty")
	}
	if s[0] == '[' || strings.HasSuffix(s, "]") {
		return bracketed(s)
	}
	if strings.IndexByte(s, ':') >= 0 {
		return ipv6(s)
	}
	if last := s[len(s)-1]; '0' <= last && last <= '9' {
		if ip, err := netip.ParseAddr(s); err == nil {
			return Host{name: ip.String(), ip: ip}, nil
		}
	}
	name, err := canonicalName(s)
	if err != nil {
		return Host{}, err
	}
	return Host{name: name}, nil
}

func bracketed(s string) (Host, error) {
	inner, opened := strings.CutPrefix(s, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !opened || !closed || strings.IndexByte(inner, ':') < 0 {
		return Host{}, errors.New("brackets belong around an IPv6 address only")
	}
	return ipv6(inner)
}

// ipv6 parses an address without brackets; s contains a colon.
func ipv6(s string) (Host, error) {
	ip, err := netip.ParseAddr(s)
	switch {
	case err != nil && strings.Contains(s, "://"):
		return Host{}, errors.New("a URL is not a host; write the name alone")
	case err != nil && strings.Count(s, ":") == 1:
		return Host{}, errors.New("a port is not part of a host")
	case err != nil:
		return Host{}, errors.New("it has colons but is not an IPv6 address")
	case ip.Zone() != "":
		return Host{}, errors.New("an IPv6 address with a zone is local to one machine")
	}
	// A mapped address reaches the same machine as the IPv4 address does, so
	// the two must never be told apart by a rule.
	ip = ip.Unmap()
	return Host{name: ip.String(), ip: ip}, nil
}

// unicodeNames maps as browsers do. Hyphens are left to checkName: idna would
// refuse names such as "r3---sn-x.example.com" that exist. BidiRule and
// CheckJoiners refuse names that a reader can't tell apart.
var unicodeNames = idna.New(
	idna.MapForLookup(),
	idna.Transitional(false),
	idna.BidiRule(),
	idna.CheckJoiners(true),
	idna.CheckHyphens(false),
	idna.StrictDomainName(false),
)

func canonicalName(s string) (string, error) {
	if !isASCII(s) {
		// Mapping costs milliseconds where a hostile name is as long as a
		// header may be. No character takes more than four bytes.
		if len(s) > 4*MaxHostLen {
			return "", fmt.Errorf("it is longer than %d characters", MaxHostLen)
		}
		mapped, err := unicodeNames.ToASCII(s)
		if err != nil {
			return "", errors.New("it is not a valid internationalised name")
		}
		s = mapped
	}
	s = strings.ToLower(s)
	s = strings.TrimSuffix(s, ".")
	if err := checkName(s); err != nil {
		return "", err
	}
	return s, checkALabels(s)
}

// checkALabels refuses an A-label that doesn't survive decoding and encoding:
// it would be a second spelling of some other name.
func checkALabels(s string) error {
	if !strings.Contains(s, "xn--") {
		return nil
	}
	if again, err := unicodeNames.ToASCII(s); err != nil || again != s {
		return errors.New(`it has an invalid "xn--" label`)
	}
	return nil
}

// checkName checks a lower-case ASCII name without a trailing dot.
func checkName(s string) error {
	if len(s) > MaxHostLen {
		return fmt.Errorf("it is longer than %d bytes", MaxHostLen)
	}
	rest, more := s, true
	var label string
	for more {
		label, rest, more = strings.Cut(rest, ".")
		if err := checkLabel(label); err != nil {
			return err
		}
	}
	if isNumber(label) {
		return errors.New("it ends in a number but is not an IPv4 address in plain decimal form")
	}
	return nil
}

func checkLabel(label string) error {
	switch {
	case label == "":
		return errors.New("it has an empty label")
	case len(label) > maxLabelLen:
		return fmt.Errorf("it has a label longer than %d bytes", maxLabelLen)
	}
	for i := range len(label) {
		if !isHostByte(label[i]) {
			return fmt.Errorf("it contains %q", label[i])
		}
	}
	if label[0] == '-' || label[len(label)-1] == '-' {
		return errors.New("it has a label that begins or ends with a hyphen")
	}
	return nil
}

// isHostByte reports whether a canonical label may contain c. The underscore
// is in no standard for host names (RFC 1123 §2.1) but in many real ones.
func isHostByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// isNumber reports whether inet_aton or a browser would take label for a part
// of an IPv4 address (WHATWG URL, "ends in a number").
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// quote renders untrusted text for an error: on one line and bounded.
func quote(s string) string {
	const limit = 80
	if len(s) > limit {
		return fmt.Sprintf("%q…", s[:limit])
	}
	return fmt.Sprintf("%q", s)
}

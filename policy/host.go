package policy

import "net/netip"

// Host is a canonical host: a lower-case A-label name without a trailing dot,
// or an IP address in its canonical text form. Only [CanonicalHost] makes one;
// the zero value is no host and is denied by every policy. Hosts are
// comparable.
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

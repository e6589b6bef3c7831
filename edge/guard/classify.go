package guard

import "net/netip"

type block struct {
	prefix netip.Prefix
	class  Class
}

// ipv4Blocks and ipv6Blocks follow the IANA special-purpose registries. What
// the registry calls globally reachable is left out. The first match counts.
var ipv4Blocks = []block{
	{netip.MustParsePrefix("0.0.0.0/32"), Unspecified},
	{netip.MustParsePrefix("0.0.0.0/8"), ThisNetwork},
	{netip.MustParsePrefix("10.0.0.0/8"), Private},
	{netip.MustParsePrefix("100.64.0.0/10"), SharedSpace},
	{netip.MustParsePrefix("127.0.0.0/8"), Loopback},
	{netip.MustParsePrefix("169.254.0.0/16"), LinkLocal},
	{netip.MustParsePrefix("172.16.0.0/12"), Private},
	{netip.MustParsePrefix("192.0.0.0/24"), Protocol},
	{netip.MustParsePrefix("192.0.2.0/24"), Documentation},
	{netip.MustParsePrefix("192.88.99.0/24"), Transition}, // 6to4 relays
	{netip.MustParsePrefix("192.168.0.0/16"), Private},
	{netip.MustParsePrefix("198.18.0.0/15"), Benchmark},
	{netip.MustParsePrefix("198.51.100.0/24"), Documentation},
	{netip.MustParsePrefix("203.0.113.0/24"), Documentation},
	{netip.MustParsePrefix("224.0.0.0/4"), Multicast},
	{netip.MustParsePrefix("240.0.0.0/4"), Reserved},
}

var ipv6Blocks = []block{
	{netip.MustParsePrefix("::/128"), Unspecified},
	{netip.MustParsePrefix("::1/128"), Loopback},
	{localNAT64, Transition},
	{teredo, Transition},
	{netip.MustParsePrefix("2001:db8::/32"), Documentation},
	{netip.MustParsePrefix("2001::/23"), Protocol},
	{sixToFour, Transition},
	{netip.MustParsePrefix("3fff::/20"), Documentation},
	{netip.MustParsePrefix("fc00::/7"), UniqueLocal},
	{netip.MustParsePrefix("fe80::/10"), LinkLocal},
	{netip.MustParsePrefix("fec0::/10"), SiteLocal},
	{netip.MustParsePrefix("ff00::/8"), Multicast},
}

var globalUnicast = netip.MustParsePrefix("2000::/3")

// Classify returns the class of addr. An IPv6 address that embeds IPv4
// addresses is as bad as the worst of them; a zone counts for nothing.
func Classify(addr netip.Addr) Class {
	if !addr.IsValid() {
		return Invalid
	}
	addr = addr.WithZone("").Unmap()
	if isMetadata(addr) {
		return Metadata
	}
	if addr.Is4() {
		return find(ipv4Blocks, addr, Public)
	}
	outer := classify6(addr)
	for inner := range embedded(addr) {
		switch c := Classify(inner); {
		case c == Metadata:
			return Metadata
		case c != Public && (outer == Public || outer == Reserved):
			outer = c
		}
	}
	return outer
}

// classify6 judges the prefix alone. NAT64's well-known prefix counts as
// public here: on a network with DNS64 it is how the IPv4 internet is reached,
// and the embedded address decides.
func classify6(addr netip.Addr) Class {
	if wellKnownNAT64.Contains(addr) || globalUnicast.Contains(addr) {
		return find(ipv6Blocks, addr, Public)
	}
	return find(ipv6Blocks, addr, Reserved)
}

func find(blocks []block, addr netip.Addr, otherwise Class) Class {
	for _, b := range blocks {
		if b.prefix.Contains(addr) {
			return b.class
		}
	}
	return otherwise
}

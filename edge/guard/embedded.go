package guard

import (
	"iter"
	"net/netip"
)

var (
	compatible     = netip.MustParsePrefix("::/96")           // RFC 4291 §2.5.5.1, deprecated
	translated     = netip.MustParsePrefix("::ffff:0:0:0/96") // RFC 2765, obsolete
	wellKnownNAT64 = netip.MustParsePrefix("64:ff9b::/96")    // RFC 6052 §2.1
	localNAT64     = netip.MustParsePrefix("64:ff9b:1::/48")  // RFC 8215
	sixToFour      = netip.MustParsePrefix("2002::/16")       // RFC 3056
	teredo         = netip.MustParsePrefix("2001::/32")       // RFC 4380
)

// localNAT64Places are the octets that hold the IPv4 address for each prefix
// length of RFC 6052 §2.2 that fits into localNAT64: 48, 56, 64 and 96. Which
// one a network uses can't be known, so all are read. Octet 8 stays zero.
var localNAT64Places = [][4]int{{6, 7, 9, 10}, {7, 9, 10, 11}, {9, 10, 11, 12}, {12, 13, 14, 15}}

// embedded yields each IPv4 address that a router or tunnel end may read out
// of addr, an IPv6 address that isn't IPv4-mapped.
func embedded(addr netip.Addr) iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		b := addr.As16()
		at := func(o [4]int) netip.Addr {
			return netip.AddrFrom4([4]byte{b[o[0]], b[o[1]], b[o[2]], b[o[3]]})
		}
		low := [4]int{12, 13, 14, 15}
		var places [][4]int
		switch {
		case compatible.Contains(addr), translated.Contains(addr), wellKnownNAT64.Contains(addr):
			places = [][4]int{low}
		case localNAT64.Contains(addr):
			places = localNAT64Places
		case sixToFour.Contains(addr):
			places = [][4]int{{2, 3, 4, 5}}
		case teredo.Contains(addr):
			if !yield(at([4]int{4, 5, 6, 7})) { // the server
				return
			}
			for _, i := range low { // the client, inverted (RFC 4380 §4)
				b[i] = ^b[i]
			}
			yield(at(low))
			return
		}
		// ISATAP is an interface identifier, so it can follow any prefix
		// (RFC 5214 §6.1); the bit 0x02 of its first octet tells only whether
		// the IPv4 address is unique.
		if b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
			places = append(places[:len(places):len(places)], low)
		}
		for _, p := range places {
			if !yield(at(p)) {
				return
			}
		}
	}
}

// Package guard decides which addresses the edge may dial, and dials them.
//
// [Classify] names what an address is; [Dialer.DialContext] resolves a host
// that the policy has allowed, keeps the addresses that may be reached, and
// connects to one of them. It is the only way by which a sandbox's traffic
// leaves the edge. The package knows nothing of policies: an allowed name is
// not exempt from it.
//
// Security promise: the address that was judged is the address that is
// dialled. It is judged a second time at the last moment before connect(2), so
// a name that changes its answer between two look-ups gains nothing. Cloud
// metadata addresses are refused whatever the configuration says.
package guard

import (
	"net/netip"
	"slices"
)

// Class is what an address is good for. The zero value is no address.
type Class uint8

const (
	Invalid       Class = iota
	Public              // global unicast: the only class that needs no permission
	Metadata            // a cloud's metadata or credential service: never permitted
	Own                 // one of the edge's own listeners: never permitted
	Unspecified         // 0.0.0.0 and ::
	ThisNetwork         // 0.0.0.0/8
	Loopback            // 127.0.0.0/8 and ::1
	Private             // RFC 1918
	SharedSpace         // 100.64.0.0/10, carrier-grade NAT
	LinkLocal           // 169.254.0.0/16 and fe80::/10
	UniqueLocal         // fc00::/7
	SiteLocal           // fec0::/10, deprecated
	Multicast           // 224.0.0.0/4 and ff00::/8
	Benchmark           // 198.18.0.0/15: also the edge's synthetic addresses
	Protocol            // IETF protocol assignments
	Documentation       // RFC 5737, RFC 3849, RFC 9637
	Transition          // 6to4, Teredo and local NAT64, whatever they lead to
	Reserved            // 240.0.0.0/4, and all of IPv6 that isn't global unicast
)

var classNames = [...]string{
	Invalid: "invalid", Public: "public", Metadata: "metadata", Own: "own_listener", Unspecified: "unspecified",
	ThisNetwork: "this_network", Loopback: "loopback", Private: "private", SharedSpace: "shared_space",
	LinkLocal: "link_local", UniqueLocal: "unique_local", SiteLocal: "site_local", Multicast: "multicast",
	Benchmark: "benchmark", Protocol: "protocol_assignment", Documentation: "documentation",
	Transition: "transition", Reserved: "reserved",
}

// String returns the name that the audit log shows.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return classNames[Invalid]
}

// Listable reports whether an operator can permit addresses of this class by
// listing a CIDR.
func (c Class) Listable() bool { return c > Own }

// metadata are the services that hand out credentials or user data to whoever
// asks from the machine. Where a cloud keeps several in one network, the whole
// network counts: it moves them about, and there is nothing else in it.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("169.254.169.0/24"),       // AWS, GCP, GKE, Azure, DigitalOcean, Hetzner, OpenStack, Oracle
	netip.MustParsePrefix("169.254.170.0/24"),       // AWS: ECS task credentials, EKS pod identity
	netip.MustParsePrefix("169.254.42.42/32"),       // Scaleway
	netip.MustParsePrefix("169.254.0.23/32"),        // Tencent Cloud
	netip.MustParsePrefix("100.100.100.200/32"),     // Alibaba Cloud
	netip.MustParsePrefix("168.63.129.16/32"),       // Azure wire server
	netip.MustParsePrefix("192.0.0.192/32"),         // Oracle Cloud, classic
	netip.MustParsePrefix("fd00:ec2::/32"),          // AWS
	netip.MustParsePrefix("fd20:ce::254/128"),       // GCP
	netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle Cloud
	netip.MustParsePrefix("fd00:42::42/128"),        // Scaleway
	netip.MustParsePrefix("fd00:a9fe:a9fe::1/128"),  // Linode
	netip.MustParsePrefix("fe80::a9fe:a9fe/128"),    // OpenStack
	netip.MustParsePrefix("fd00:a9fe:a9fe::fe/128"), // OpenStack on some clouds
}

func isMetadata(addr netip.Addr) bool {
	return slices.ContainsFunc(metadata, func(p netip.Prefix) bool { return p.Contains(addr) })
}

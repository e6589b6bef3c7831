package guard_test

import (
	"net/netip"
	"testing"

	"github.com/sallyport/sallyport/edge/guard"
)

// Case: B08
// Case: B27
var literals = []struct {
	addr string
	want guard.Class
}{
	// Public, and the neighbours of what isn't.
	{"1.1.1.1", guard.Public}, {"8.8.8.8", guard.Public}, {"9.255.255.255", guard.Public}, {"11.0.0.0", guard.Public},
	{"100.63.255.255", guard.Public}, {"100.128.0.0", guard.Public}, {"126.255.255.255", guard.Public}, {"128.0.0.0", guard.Public},
	{"169.253.255.255", guard.Public}, {"169.255.0.0", guard.Public}, {"172.15.255.255", guard.Public}, {"172.32.0.0", guard.Public},
	{"192.0.1.0", guard.Public}, {"192.167.255.255", guard.Public}, {"192.169.0.0", guard.Public}, {"198.17.255.255", guard.Public},
	{"198.20.0.0", guard.Public}, {"223.255.255.255", guard.Public}, {"168.63.129.15", guard.Public},
	{"2606:4700:4700::1111", guard.Public}, {"2a00:1450:4001::200e", guard.Public}, {"2001:200::1", guard.Public}, {"2620:4f:8000::1", guard.Public},
	{"::ffff:8.8.8.8", guard.Public}, {"64:ff9b::8.8.8.8", guard.Public},

	// IPv4.
	{"0.0.0.0", guard.Unspecified}, {"0.0.0.1", guard.ThisNetwork}, {"0.255.255.255", guard.ThisNetwork},
	{"10.0.0.0", guard.Private}, {"10.255.255.255", guard.Private}, {"172.16.0.1", guard.Private}, {"172.31.255.255", guard.Private},
	{"192.168.0.1", guard.Private}, {"192.168.255.255", guard.Private}, {"100.64.0.1", guard.SharedSpace}, {"100.127.255.255", guard.SharedSpace},
	{"127.0.0.1", guard.Loopback}, {"127.1.2.3", guard.Loopback}, {"127.255.255.255", guard.Loopback},
	{"169.254.0.1", guard.LinkLocal}, {"169.254.255.255", guard.LinkLocal}, {"192.0.0.1", guard.Protocol}, {"192.0.0.170", guard.Protocol},
	{"192.0.2.1", guard.Documentation}, {"198.51.100.1", guard.Documentation}, {"203.0.113.66", guard.Documentation},
	{"192.88.99.1", guard.Transition}, {"198.18.0.1", guard.Benchmark}, {"198.19.255.255", guard.Benchmark},
	{"224.0.0.1", guard.Multicast}, {"239.255.255.250", guard.Multicast}, {"240.0.0.1", guard.Reserved}, {"255.255.255.255", guard.Reserved},

	// IPv6.
	{"::", guard.Unspecified}, {"::1", guard.Loopback}, {"fe80::1", guard.LinkLocal}, {"febf::1", guard.LinkLocal}, {"fec0::1", guard.SiteLocal},
	{"feff::1", guard.SiteLocal}, {"fc00::1", guard.UniqueLocal}, {"fdff::1", guard.UniqueLocal}, {"ff02::1", guard.Multicast}, {"ff0e::1", guard.Multicast},
	{"2001:db8::1", guard.Documentation}, {"3fff::1", guard.Documentation}, {"100::1", guard.Reserved}, {"5f00::1", guard.Reserved},
	{"4000::1", guard.Reserved}, {"1fff::1", guard.Reserved}, {"2001:10::1", guard.Protocol}, {"2001:1::1", guard.Protocol}, {"200::1", guard.Reserved},

	// IPv6 that embeds IPv4.
	{"::ffff:127.0.0.1", guard.Loopback}, {"::ffff:7f00:1", guard.Loopback}, {"::ffff:10.0.0.5", guard.Private}, {"::ffff:0.0.0.0", guard.Unspecified},
	{"::127.0.0.1", guard.Loopback}, {"::7f00:1", guard.Loopback}, {"::10.1.2.3", guard.Private}, {"::8.8.8.8", guard.Reserved},
	{"::ffff:0:127.0.0.1", guard.Loopback}, {"::ffff:0:10.0.0.1", guard.Private}, {"::ffff:0:8.8.8.8", guard.Reserved},
	{"64:ff9b::7f00:1", guard.Loopback}, {"64:ff9b::10.0.0.1", guard.Private}, {"64:ff9b::192.168.1.1", guard.Private}, {"64:ff9b::", guard.Unspecified},
	{"64:ff9b:1::7f00:1", guard.Transition}, {"64:ff9b:1:7f00:0:100::", guard.Transition}, {"64:ff9b:1::808:808", guard.Transition}, {"64:ff9b:2::1", guard.Reserved},
	{"2002:7f00:1::", guard.Transition}, {"2002:0a00:0001::1", guard.Transition}, {"2002:808:808::1", guard.Transition},
	{"2001:0:4136:e378:8000:63bf:3fff:fdd2", guard.Transition}, {"2001::1", guard.Transition},
	{"2606:4700::5efe:10.0.0.1", guard.Private}, {"2606:4700::200:5efe:127.0.0.1", guard.Loopback}, {"2606:4700::5efe:8.8.8.8", guard.Public}, {"fe80::5efe:8.8.8.8", guard.LinkLocal},

	// Metadata, in every disguise.
	{"169.254.169.254", guard.Metadata}, {"169.254.169.253", guard.Metadata}, {"169.254.169.252", guard.Metadata},
	{"169.254.169.1", guard.Metadata}, {"169.254.168.255", guard.LinkLocal}, {"169.254.171.0", guard.LinkLocal}, {"fd00:ec2::250", guard.Metadata},
	{"fd00:c1::a9fe:a9fe", guard.Metadata}, {"::ffff:169.254.169.252", guard.Metadata}, {"64:ff9b::169.254.169.252", guard.Metadata},
	{"169.254.170.2", guard.Metadata}, {"169.254.170.23", guard.Metadata},
	{"100.100.100.200", guard.Metadata}, {"168.63.129.16", guard.Metadata}, {"192.0.0.192", guard.Metadata},
	{"fd00:ec2::254", guard.Metadata}, {"fd20:ce::254", guard.Metadata}, {"fe80::a9fe:a9fe", guard.Metadata}, {"fe80::a9fe:a9fe%eth0", guard.Metadata},
	{"::ffff:169.254.169.254", guard.Metadata}, {"::169.254.169.254", guard.Metadata}, {"::ffff:0:169.254.169.254", guard.Metadata},
	{"64:ff9b::a9fe:a9fe", guard.Metadata}, {"64:ff9b:1::a9fe:a9fe", guard.Metadata}, {"64:ff9b:1:a9fe:a9:fe00::", guard.Metadata},
	{"64:ff9b:1:a9:fe:a9fe::", guard.Metadata}, {"64:ff9b:1::a9:fea9:fe00:0", guard.Metadata},
	{"2002:a9fe:a9fe::1", guard.Metadata}, {"2001:0:a9fe:a9fe::1", guard.Metadata}, {"2001:0:808:808::5601:5601", guard.Metadata},
	{"2606:4700::5efe:169.254.169.254", guard.Metadata}, {"2002:808:808::200:5efe:a9fe:a9fe", guard.Metadata},

	// Zones count for nothing.
	{"fe80::1%eth0", guard.LinkLocal}, {"::1%lo", guard.Loopback},
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, c := range literals {
		if got := guard.Classify(netip.MustParseAddr(c.addr)); got != c.want {
			t.Errorf("%s: %v, want %v", c.addr, got, c.want)
		}
	}
	if got := guard.Classify(netip.Addr{}); got != guard.Invalid {
		t.Errorf("no address: %v", got)
	}
	t.Logf("%d literals", len(literals))
}

func TestClassNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for c := guard.Invalid; c <= guard.Reserved; c++ {
		if c.String() == "" || seen[c.String()] {
			t.Errorf("class %d is named %q", c, c)
		}
		seen[c.String()] = true
	}
	for _, c := range []guard.Class{guard.Invalid, guard.Metadata, guard.Own} {
		if c.Listable() {
			t.Errorf("%v can be listed", c)
		}
	}
	if guard.Class(200).String() != "invalid" {
		t.Error("an unknown class has a name")
	}
}

// FuzzClassify holds that no IPv6 form of a refused IPv4 address is public.
func FuzzClassify(f *testing.F) {
	for _, c := range literals {
		f.Add(netip.MustParseAddr(c.addr).AsSlice(), uint8(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, form uint8) {
		addr, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		guard.Classify(addr)
		if !addr.Is4() || guard.Classify(addr) == guard.Public {
			return
		}
		v4 := addr.As4()
		forms := [][16]byte{
			{10: 0xff, 11: 0xff, 12: v4[0], 13: v4[1], 14: v4[2], 15: v4[3]},
			{12: v4[0], 13: v4[1], 14: v4[2], 15: v4[3]},
			{1: 0x64, 2: 0xff, 3: 0x9b, 12: v4[0], 13: v4[1], 14: v4[2], 15: v4[3]},
			{1: 0x64, 2: 0xff, 3: 0x9b, 5: 1, 6: v4[0], 7: v4[1], 9: v4[2], 10: v4[3]},
			{0: 0x20, 1: 2, 2: v4[0], 3: v4[1], 4: v4[2], 5: v4[3]},
			{0: 0x20, 1: 1, 12: ^v4[0], 13: ^v4[1], 14: ^v4[2], 15: ^v4[3]},
			{0: 0x26, 1: 6, 10: 0x5e, 11: 0xfe, 12: v4[0], 13: v4[1], 14: v4[2], 15: v4[3]},
		}
		wrapped := netip.AddrFrom16(forms[int(form)%len(forms)])
		if c := guard.Classify(wrapped); c == guard.Public || guard.Classify(addr) == guard.Metadata && c != guard.Metadata {
			t.Errorf("%v is %v, but embeds %v, which is %v", wrapped, c, addr, guard.Classify(addr))
		}
	})
}

func BenchmarkClassify(b *testing.B) {
	v4, v6 := netip.MustParseAddr("140.82.121.4"), netip.MustParseAddr("2606:4700:4700::1111")
	b.ReportAllocs()
	for b.Loop() {
		guard.Classify(v4)
		guard.Classify(v6)
	}
}

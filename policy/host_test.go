package policy_test

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport/policy"
)

func mustHost(t testing.TB, s string) policy.Host {
	t.Helper()
	h, err := policy.CanonicalHost(s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// longName returns a valid name of n bytes.
func longName(n int) string {
	name := strings.Repeat(strings.Repeat("a", 49)+".", n/50+1)[:n]
	if strings.HasSuffix(name, ".") {
		name = name[:n-1] + "b"
	}
	return name
}

// Ledger: NP-19
func TestCanonicalHost(t *testing.T) {
	t.Parallel()
	cases := []struct{ in, want string }{
		{"api.example.com", "api.example.com"},
		{"API.Example.COM", "api.example.com"},
		{"example.com.", "example.com"},
		{"localhost", "localhost"},
		{"a_b._tcp.example.com", "a_b._tcp.example.com"},
		{"r3---sn-x.example.com", "r3---sn-x.example.com"},
		{"1.example.com", "1.example.com"},
		{"bücher.example", "xn--bcher-kva.example"},
		{"BÜCHER.example", "xn--bcher-kva.example"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"faß.example", "xn--fa-hia.example"},
		{"example。com", "example.com"},
		{"ｅｘａｍｐｌｅ.com", "example.com"},
		{longName(253), longName(253)},
		{longName(253) + ".", longName(253)},
		{strings.Repeat("a", 63) + ".com", strings.Repeat("a", 63) + ".com"},
		{"10.0.0.5", "10.0.0.5"},
		{"::1", "::1"},
		{"[::1]", "::1"},
		{"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
		{"::ffff:10.0.0.5", "10.0.0.5"},
		{"[::ffff:a00:5]", "10.0.0.5"},
	}
	for _, c := range cases {
		h, err := policy.CanonicalHost(c.in)
		if err != nil {
			t.Errorf("CanonicalHost(%q): %v", c.in, err)
			continue
		}
		if h.String() != c.want {
			t.Errorf("CanonicalHost(%q) = %q, want %q", c.in, h, c.want)
		}
		if again := mustHost(t, h.String()); again != h {
			t.Errorf("CanonicalHost(%q) = %q is not canonical: %q", c.in, h, again)
		}
		if isIP := strings.ContainsAny(c.want[:1], "0123456789:") && !strings.Contains(c.want, "com"); h.IP().IsValid() != isIP {
			t.Errorf("CanonicalHost(%q).IP() = %v", c.in, h.IP())
		}
	}
}

// Ledger: NP-19. Case: B04, B09, B35
func TestCanonicalHostRefuses(t *testing.T) {
	t.Parallel()
	cases := []string{
		"", ".", "..", ".example.com", "a..b", "example.com..", "a b", " a", "a ", "a\x00b", "a\tb", "a\n",
		longName(254), strings.Repeat("a", 64) + ".com",
		"a@b", "user:pw@a.test", "a%2eb", "%", "a/b", `a\b`, "a?b", "a#b", "a,b", "a*b", "*", "a;b", "a=b", "a'b",
		"https://a.test", "a.test:443", "a.test:", "[a.test]", "[10.0.0.5]", "[]", "[", "]", "[::1", "::1]", "[[::1]]", "[::1]:443", "a[::1]",
		"fe80::1%eth0", "[fe80::1%25eth0]", "::1%lo", "1::2::3", "12345::",
		"127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0X7F.1", "0177.0.0.1", "127.0.0.01", "1.2.3.4.5", "256.0.0.1",
		"127.0.0.1.", "a.1", "a.0x1f", "0x", "a.0x", "１２７.0.0.1", "127。0。0。1", "①",
		"-a.test", "a-.test", "a.-", "xn--.test", "xn--abc-.test", "xn--a.test", "xn--zzzzzzzzzzzz.test", "xn--u-ccb.test",
		"a\u200db.test", "\u00ad.test", "1א.com", "℀.test", "a\xff.test", "a%.ü",
		"a" + strings.Repeat("\u00ad", 1000) + ".test", // soft hyphens, which vanish
	}
	for _, in := range cases {
		h, err := policy.CanonicalHost(in)
		if err == nil {
			t.Errorf("CanonicalHost(%q) = %q, want an error", in, h)
			continue
		}
		if !h.IsZero() {
			t.Errorf("CanonicalHost(%q) returned %q beside its error", in, h)
		}
		if msg := err.Error(); len(msg) > 300 || strings.ContainsAny(msg, "\n\x00") {
			t.Errorf("CanonicalHost(%q): error is not fit for a log: %q", in, msg)
		}
	}
}

// Case: A18, A19, B04, B09, B35
func TestCanonicalAuthority(t *testing.T) {
	t.Parallel()
	cases := []struct {
		in   string
		def  uint16
		host string // empty: refused
		port uint16
	}{
		{"a.test:443", 0, "a.test", 443},
		{"A.test.:8443", 0, "a.test", 8443},
		{"a.test:1", 0, "a.test", 1},
		{"a.test:65535", 0, "a.test", 65535},
		{"[::1]:443", 0, "::1", 443},
		{"10.0.0.5:80", 0, "10.0.0.5", 80},
		{"a.test", 443, "a.test", 443},
		{"[::1]", 80, "::1", 80},
		{"a.test:8080", 80, "a.test", 8080},

		{in: "a.test"}, {in: "/x"}, {in: "::1:443"}, {in: "a.test:"}, {in: "a.test:", def: 80}, {in: "a.test:0"},
		{in: "a.test:99999"}, {in: "a.test:65536"}, {in: "a.test:https"}, {in: "a.test:0443"}, {in: "a.test:+443"},
		{in: "a.test:-1"}, {in: "a.test: 443"}, {in: "a.test:443 "}, {in: "a.test:4\x0043"}, {in: "a.test:４４３"},
		{in: "http://a.test:443"}, {in: "a.test:443@evil.test:443"}, {in: "a@b.test:443"}, {in: "a.test:443/x"},
		{in: "::1", def: 443}, {in: "[a.test]:443"}, {in: "[10.0.0.5]:443"}, {in: "[::1%25lo]:443"}, {in: "[fe80::1%lo]:80"},
		{in: "[::1]443"}, {in: "[::1]:443:443"}, {in: "[::1]x:443"}, {in: "[]:443"}, {in: ":443"}, {in: ""}, {in: ":"},
		{in: "", def: 443}, {in: "a.test:443,b.test:443"}, {in: "a.test:443:443"}, {in: "[::1", def: 443}, {in: "127.1:80"},
	}
	for _, c := range cases {
		h, port, err := policy.CanonicalAuthority(c.in, c.def)
		if h.String() != c.host || port != c.port || (err == nil) != (c.host != "") {
			t.Errorf("CanonicalAuthority(%q, %d) = %q, %d, %v; want %q, %d", c.in, c.def, h, port, err, c.host, c.port)
		}
	}
}

func TestCanonicalHostKeepsCanonicalNames(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { _, _ = policy.CanonicalHost("api.example.com") }); n != 0 {
		t.Errorf("CanonicalHost allocates %v times for a canonical name", n)
	}
}

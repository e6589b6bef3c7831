package names_test

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
	"go.uber.org/goleak"

	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/names"
	"github.com/sallyport/sallyport/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// records keeps what was recorded.
type records struct {
	mu  sync.Mutex
	all []audit.Record
}

func (r *records) Record(rec audit.Record) {
	r.mu.Lock()
	r.all = append(r.all, rec)
	r.mu.Unlock()
}

func (r *records) last(t *testing.T) audit.Record {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) == 0 {
		t.Fatal("nothing recorded")
	}
	return r.all[len(r.all)-1]
}

// allows decides like a policy that allows allowed.test and what is below
// wild.test.
func allows(h policy.Host) policy.Decision {
	if h.String() == "allowed.test" || strings.HasSuffix(h.String(), ".wild.test") {
		return policy.Decision{Action: policy.Allow, Rule: 1, Glob: "g", Reason: policy.ReasonAllowed}
	}
	return policy.Decision{Rule: policy.DefaultRule, Reason: policy.ReasonDenied}
}

func newServer(decide func(policy.Host) policy.Decision) (*names.Server, *names.Pool, *records) {
	pool, rec := new(names.Pool), new(records)
	return names.New(names.Config{Boundary: "b", Decide: decide, Pool: pool, Audit: rec, QueriesPerSecond: 1_000_000}), pool, rec
}

// ask sends one message through Answer, as it is on the wire.
func ask(t testing.TB, s *names.Server, m *dns.Msg) *dns.Msg {
	t.Helper()
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	b = s.Answer(b)
	if b == nil {
		return nil
	}
	out := new(dns.Msg)
	if err := out.Unpack(b); err != nil {
		t.Fatal(err)
	}
	if out.Id != m.Id || !out.Response {
		t.Fatalf("not an answer: %v", out)
	}
	return out
}

func query(name string, qtype uint16) *dns.Msg { return new(dns.Msg).SetQuestion(name, qtype) }

// Ledger: ED-30
// Ledger: ED-31
// Ledger: ED-32
// Case: B23
func TestAnswers(t *testing.T) {
	t.Parallel()
	type edit func(*dns.Msg)
	class := func(c uint16) edit { return func(m *dns.Msg) { m.Question[0].Qclass = c } }
	cases := []struct {
		name   string
		q      string
		qtype  uint16
		edit   edit
		rcode  int
		data   string // of the answer; "synthetic" for one of ours
		reason string
	}{
		{"allowed A", "allowed.test.", dns.TypeA, nil, dns.RcodeSuccess, "synthetic", "allowed"},
		{"case and dot", "ALLOWED.tEsT.", dns.TypeA, nil, dns.RcodeSuccess, "synthetic", "allowed"},
		{"below a wildcard", "x.y.wild.test.", dns.TypeA, nil, dns.RcodeSuccess, "synthetic", "allowed"},
		{"allowed AAAA", "allowed.test.", dns.TypeAAAA, nil, dns.RcodeSuccess, "", "allowed"},
		{"allowed HTTPS", "allowed.test.", dns.TypeHTTPS, nil, dns.RcodeSuccess, "", "allowed"},
		{"allowed SVCB", "allowed.test.", dns.TypeSVCB, nil, dns.RcodeSuccess, "", "allowed"},
		{"allowed TXT", "allowed.test.", dns.TypeTXT, nil, dns.RcodeSuccess, "", "allowed"},
		{"allowed MX", "allowed.test.", dns.TypeMX, nil, dns.RcodeSuccess, "", "allowed"},
		{"allowed NULL", "allowed.test.", dns.TypeNULL, nil, dns.RcodeSuccess, "", "allowed"},
		{"allowed SRV", "_x._tcp.wild.test.", dns.TypeSRV, nil, dns.RcodeSuccess, "", "allowed"},
		{"allowed, private type", "allowed.test.", 65280, nil, dns.RcodeSuccess, "", "allowed"},
		{"ANY", "allowed.test.", dns.TypeANY, nil, dns.RcodeNotImplemented, "", "protocol_denied"},
		{"ANY of a denied name", "evil.test.", dns.TypeANY, nil, dns.RcodeNotImplemented, "", "protocol_denied"},
		{"AXFR", "allowed.test.", dns.TypeAXFR, nil, dns.RcodeNotImplemented, "", "protocol_denied"},
		{"type OPT", "allowed.test.", dns.TypeOPT, nil, dns.RcodeNotImplemented, "", "protocol_denied"},
		{"chaos", "version.bind.", dns.TypeTXT, class(dns.ClassCHAOS), dns.RcodeRefused, "", "protocol_denied"},
		{"class ANY", "allowed.test.", dns.TypeA, class(dns.ClassANY), dns.RcodeRefused, "", "protocol_denied"},
		{"denied A", "evil.test.", dns.TypeA, nil, dns.RcodeRefused, "", "network_policy_denied"},
		{"denied AAAA", "evil.test.", dns.TypeAAAA, nil, dns.RcodeRefused, "", "network_policy_denied"},
		{"denied TXT", "evil.test.", dns.TypeTXT, nil, dns.RcodeRefused, "", "network_policy_denied"},
		{"denied, data in the labels", strings.Repeat("q", 60) + ".evil.test.", dns.TypeA, nil, dns.RcodeRefused, "", "network_policy_denied"},
		{"the wildcard's apex", "wild.test.", dns.TypeA, nil, dns.RcodeRefused, "", "network_policy_denied"},
		{"search domain appended", "allowed.test.corp.example.", dns.TypeA, nil, dns.RcodeRefused, "", "network_policy_denied"},
		{"root", ".", dns.TypeNS, nil, dns.RcodeRefused, "", "bad_host"},
		{"an address", "1.2.3.4.", dns.TypeA, nil, dns.RcodeRefused, "", "bad_host"},
		{"part of an address", "127.1.", dns.TypeA, nil, dns.RcodeRefused, "", "bad_host"},
		{"a dot inside a label", `allowed\.test.`, dns.TypeA, nil, dns.RcodeRefused, "", "bad_host"},
		{"NUL", `allowed.test\000.`, dns.TypeA, nil, dns.RcodeRefused, "", "bad_host"},
		{"a space", `a\032b.wild.test.`, dns.TypeA, nil, dns.RcodeRefused, "", "bad_host"},
		{"wildcard itself", "*.wild.test.", dns.TypeA, nil, dns.RcodeRefused, "", "bad_host"},
		{"localhost", "localhost.", dns.TypeA, nil, dns.RcodeSuccess, "127.0.0.1", "allowed"},
		{"below localhost", "a.LOCALHOST.", dns.TypeA, nil, dns.RcodeSuccess, "127.0.0.1", "allowed"},
		{"localhost AAAA", "localhost.", dns.TypeAAAA, nil, dns.RcodeSuccess, "", "allowed"},
		{"like localhost", "notlocalhost.", dns.TypeA, nil, dns.RcodeRefused, "", "network_policy_denied"},
		{"PTR of loopback", "1.0.0.127.in-addr.arpa.", dns.TypePTR, nil, dns.RcodeSuccess, "localhost.", "allowed"},
		{"PTR of nothing", "9.9.19.198.in-addr.arpa.", dns.TypePTR, nil, dns.RcodeNameError, "", "network_policy_denied"},
		{"PTR of the world", "8.8.8.8.in-addr.arpa.", dns.TypePTR, nil, dns.RcodeRefused, "", "network_policy_denied"},
		{"TXT in the reverse tree", "1.0.18.198.in-addr.arpa.", dns.TypeTXT, nil, dns.RcodeRefused, "", "network_policy_denied"},
		{"update", "allowed.test.", dns.TypeSOA, func(m *dns.Msg) { m.Opcode = dns.OpcodeUpdate }, dns.RcodeNotImplemented, "", "protocol_denied"},
		{"notify", "allowed.test.", dns.TypeSOA, func(m *dns.Msg) { m.Opcode = dns.OpcodeNotify }, dns.RcodeNotImplemented, "", "protocol_denied"},
		{"no question", "allowed.test.", dns.TypeA, func(m *dns.Msg) { m.Question = nil }, dns.RcodeFormatError, "", "bad_request"},
		{"two questions", "allowed.test.", dns.TypeA, func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) }, dns.RcodeFormatError, "", "bad_request"},
		{"two OPT records", "allowed.test.", dns.TypeA, func(m *dns.Msg) { m.SetEdns0(512, false); m.SetEdns0(512, false) }, dns.RcodeFormatError, "", "bad_request"},
		{"EDNS version 1", "allowed.test.", dns.TypeA, func(m *dns.Msg) { m.SetEdns0(512, false); m.IsEdns0().SetVersion(1) }, dns.RcodeBadVers, "", "bad_request"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, _, rec := newServer(allows)
			m := query(c.q, c.qtype)
			if c.edit != nil {
				c.edit(m)
			}
			out := ask(t, s, m)
			if out == nil || out.Rcode != c.rcode {
				t.Fatalf("got %v, want %s", out, dns.RcodeToString[c.rcode])
			}
			checkData(t, out, c.data, c.q)
			r := rec.last(t)
			if r.Mode != "dns" || r.Boundary != "b" || r.Reason != c.reason || (r.Verdict == "allow") != (c.reason == "allowed") {
				t.Errorf("recorded %+v", r)
			}
		})
	}
}

func checkData(t *testing.T, m *dns.Msg, want, name string) {
	t.Helper()
	if want == "" {
		if len(m.Answer)+len(m.Ns) != 0 {
			t.Errorf("unexpected data: %v", m)
		}
		return
	}
	if len(m.Answer) != 1 || m.Answer[0].Header().Ttl > 60 || m.Answer[0].Header().Name != name {
		t.Fatalf("answer %v", m.Answer)
	}
	switch rr := m.Answer[0].(type) {
	case *dns.A:
		addr, _ := netip.AddrFromSlice(rr.A.To4())
		if want == "synthetic" && !names.Synthetic(addr) || want != "synthetic" && addr.String() != want {
			t.Errorf("address %v, want %s", addr, want)
		}
	case *dns.PTR:
		if rr.Ptr != want {
			t.Errorf("name %s, want %s", rr.Ptr, want)
		}
	}
}

// Ledger: ED-30
func TestDenyAllRefusesEverything(t *testing.T) {
	t.Parallel()
	s, _, _ := newServer(new(policy.Policy).Decide)
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeTXT, dns.TypeHTTPS, dns.TypeMX} {
		if m := ask(t, s, query("allowed.test.", qtype)); m.Rcode != dns.RcodeRefused {
			t.Errorf("%s: %v", dns.TypeToString[qtype], m)
		}
	}
}

func TestExtendedErrorOnlyWithEDNS(t *testing.T) {
	t.Parallel()
	s, _, _ := newServer(allows)
	if m := ask(t, s, query("evil.test.", dns.TypeA)); m.IsEdns0() != nil {
		t.Errorf("OPT without being asked: %v", m)
	}
	m := ask(t, s, query("evil.test.", dns.TypeA).SetEdns0(4096, true))
	opt := m.IsEdns0()
	if opt == nil || len(opt.Option) != 1 {
		t.Fatalf("no extended error: %v", m)
	}
	ede, ok := opt.Option[0].(*dns.EDNS0_EDE)
	if !ok || ede.InfoCode != 15 || ede.ExtraText != "Sallyport: network_policy_denied" {
		t.Errorf("extended error %v", opt.Option[0])
	}
	if m := ask(t, s, query("allowed.test.", dns.TypeA).SetEdns0(4096, true)); m.IsEdns0() == nil || len(m.IsEdns0().Option) != 0 {
		t.Errorf("allowed: %v", m)
	}
}

func TestNameBehindTheAddress(t *testing.T) {
	t.Parallel()
	s, pool, rec := newServer(allows)
	a := ask(t, s, query("Allowed.test.", dns.TypeA)).Answer[0].(*dns.A).A
	addr, _ := netip.AddrFromSlice(a.To4())
	if h, ok := pool.Lookup("b", addr); !ok || h.String() != "allowed.test" {
		t.Errorf("%v is %v", addr, h)
	}
	if r := rec.last(t); r.Address != addr.String() || r.Host != "allowed.test" || r.Method != "A" || r.Rule != 1 || r.Glob != "g" {
		t.Errorf("recorded %+v", r)
	}
	rev, err := dns.ReverseAddr(addr.String())
	if err != nil {
		t.Fatal(err)
	}
	if m := ask(t, s, query(rev, dns.TypePTR)); len(m.Answer) != 1 || m.Answer[0].(*dns.PTR).Ptr != "allowed.test." {
		t.Errorf("PTR: %v", m)
	}
}

func TestResponsesAndScrapsGetNoAnswer(t *testing.T) {
	t.Parallel()
	s, _, _ := newServer(allows)
	m := query("allowed.test.", dns.TypeA)
	m.Response = true
	if out := ask(t, s, m); out != nil {
		t.Errorf("a response was answered: %v", out)
	}
	for n := range 12 {
		if out := s.Answer(make([]byte, n)); out != nil {
			t.Errorf("%d bytes were answered", n)
		}
	}
	b, err := query("allowed.test.", dns.TypeA).Pack()
	if err != nil {
		t.Fatal(err)
	}
	for n := 13; n < len(b); n++ {
		out := new(dns.Msg)
		if err := out.Unpack(s.Answer(b[:n])); err != nil || out.Rcode != dns.RcodeFormatError {
			t.Errorf("cut to %d bytes: %v, %v", n, out, err)
		}
	}
}

// FuzzAnswer holds that no message, however mangled, panics the server, gets an
// address for a name that isn't allowed, or more than a datagram.
func FuzzAnswer(f *testing.F) {
	for _, m := range []*dns.Msg{query("allowed.test.", dns.TypeA), query("evil.test.", dns.TypeA), query("x.wild.test.", dns.TypeHTTPS),
		query("1.0.18.198.in-addr.arpa.", dns.TypePTR), query("localhost.", dns.TypeA), query("evil.test.", dns.TypeTXT).SetEdns0(4096, true)} {
		b, err := m.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01")) // a pointer to itself
	s, pool, rec := newServer(allows)
	f.Fuzz(func(t *testing.T, msg []byte) {
		rec.all = nil
		b := s.Answer(msg)
		if b == nil {
			return
		}
		if len(rec.all) != 1 || len(b) > 1232 {
			t.Fatalf("%d records, %d bytes", len(rec.all), len(b))
		}
		m := new(dns.Msg)
		if err := m.Unpack(b); err != nil {
			t.Fatalf("%x: %v", b, err)
		}
		for _, rr := range m.Answer {
			a, ok := rr.(*dns.A)
			if !ok {
				continue
			}
			h, err := policy.CanonicalHost(m.Question[0].Name)
			if err != nil {
				t.Fatalf("an address for %q", m.Question[0].Name)
			}
			addr, _ := netip.AddrFromSlice(a.A.To4())
			behind, _ := pool.Lookup("b", addr)
			isLocal := h.String() == "localhost" || strings.HasSuffix(h.String(), ".localhost")
			if !isLocal && (allows(h).Action != policy.Allow || behind != h) {
				t.Fatalf("address %v, of %v, for %v", addr, behind, h)
			}
		}
	})
}

func BenchmarkAnswer(b *testing.B) {
	s := names.New(names.Config{Boundary: "b", Decide: allows, Pool: new(names.Pool), Audit: audit.SinkFunc(func(audit.Record) {})})
	for _, name := range []string{"allowed.test.", "evil.test."} {
		msg, err := query(name, dns.TypeA).SetEdns0(1232, false).Pack()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Answer(msg)
			}
		})
	}
}

// A message of the largest size with a compressed name in each of its records
// takes thousands of times as long to read as a query does.
func TestOnlyQueriesAreRead(t *testing.T) {
	t.Parallel()
	s, _, _ := newServer(allows)
	good, err := query("allowed.test.", dns.TypeA).Pack()
	if err != nil {
		t.Fatal(err)
	}
	root := []byte{0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0} // ". 0 IN A" without an address
	cases := map[string][]byte{
		"an answer":         append(slices.Clone(good), root...),
		"an authority":      append(slices.Clone(good), root...),
		"three additionals": append(slices.Clone(good), slices.Repeat(root, 3)...),
		"longer than 4096":  append(slices.Clone(good), make([]byte, 4096)...),
	}
	cases["an answer"][7], cases["an authority"][9], cases["three additionals"][11] = 1, 1, 3
	for name, msg := range cases {
		var m dns.Msg
		if err := m.Unpack(s.Answer(msg)); err != nil || m.Rcode != dns.RcodeFormatError || m.Id != binary.BigEndian.Uint16(good) || len(m.Question) != 0 {
			t.Errorf("%s: %v, %v", name, &m, err)
		}
	}
}

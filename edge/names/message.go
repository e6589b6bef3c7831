package names

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"

	"github.com/miekg/dns"

	"github.com/sallyport/sallyport/edge/refusal"
)

const (
	headerLen = 12
	// maxQuery is far more than a query needs, padding included (RFC 8467).
	maxQuery = 4096
	// maxAdditional is an OPT record and a signature (RFC 8945 §5.1).
	maxAdditional = 2
)

var errNotAQuery = errors.New("more than a query holds")

// unpack reads a query. Of a message that holds more than a query does, it
// reads the header alone: miekg/dns v1.1.73 takes some 20 ms for 64 KiB of
// records with compressed names.
func unpack(into *dns.Msg, msg []byte) error {
	if len(msg) < headerLen {
		return errNotAQuery
	}
	count := func(at int) uint16 { return binary.BigEndian.Uint16(msg[at:]) }
	if len(msg) <= maxQuery && count(6) == 0 && count(8) == 0 && count(10) <= maxAdditional {
		return into.Unpack(msg)
	}
	return errors.Join(errNotAQuery, into.Unpack(msg[:headerLen]))
}

// wellFormed checks what miekg/dns v1.1.73 lets pass: any number of questions
// and OPT records, and a question that ends before its class, whose class or
// type is then zero.
func wellFormed(m *dns.Msg) bool {
	if len(m.Question) != 1 || m.Question[0].Qtype == dns.TypeNone || m.Question[0].Qclass == 0 {
		return false
	}
	opts := 0
	for _, rr := range m.Extra {
		if rr.Header().Rrtype == dns.TypeOPT {
			opts++
		}
	}
	return opts <= 1
}

func reply(req *dns.Msg, v *verdict) *dns.Msg {
	m := new(dns.Msg)
	m.Id, m.Opcode, m.Response, m.Rcode = req.Id, req.Opcode, true, v.rcode
	m.RecursionDesired, m.RecursionAvailable = req.RecursionDesired, true
	m.Compress = true
	if v.code != refusal.BadRequest || v.rcode == dns.RcodeBadVers {
		m.Question = req.Question
	}
	if v.allowed && v.answer != nil {
		m.Answer = []dns.RR{v.answer}
	}
	if req.IsEdns0() != nil {
		m.SetEdns0(udpSize, false)
		if v.rcode == dns.RcodeRefused {
			opt := m.IsEdns0()
			opt.Option = append(opt.Option, &dns.EDNS0_EDE{InfoCode: dns.ExtendedErrorCodeBlocked, ExtraText: "Sallyport: " + string(v.code)})
		}
	}
	return m
}

// pack returns the wire format, or nil: an answer that can't be written, for a
// question that could be read, is none.
func pack(m *dns.Msg) []byte {
	b, err := m.Pack()
	if err != nil {
		return nil
	}
	return b
}

// isMeta reports whether t asks for an operation or a whole zone rather than
// for one type (RFC 6895 §3.1): ANY, AXFR, TKEY and the like.
func isMeta(t uint16) bool { return t == dns.TypeOPT || t >= 128 && t <= 255 }

func addressOf(q dns.Question, addr netip.Addr) dns.RR {
	if q.Qtype != dns.TypeA {
		return nil
	}
	return &dns.A{Hdr: header(q, dns.TypeA), A: addr.AsSlice()}
}

func header(q dns.Question, t uint16) dns.RR_Header {
	// The name is written as it was asked, letter case included: clients
	// compare it (draft-vixie-dnsext-dns0x20).
	return dns.RR_Header{Name: q.Name, Rrtype: t, Class: dns.ClassINET, Ttl: ttl}
}

// reverse returns the IPv4 address that a name under in-addr.arpa stands for.
func reverse(name string) (netip.Addr, bool) {
	rest, ok := strings.CutSuffix(strings.ToLower(name), ".in-addr.arpa.")
	octets := strings.Split(rest, ".")
	if !ok || len(octets) != 4 {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(octets[3] + "." + octets[2] + "." + octets[1] + "." + octets[0])
	return addr, err == nil
}

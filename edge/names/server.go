package names

import (
	"cmp"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/time/rate"

	"github.com/sallyport/sallyport/edge/audit"
	"github.com/sallyport/sallyport/edge/refusal"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/policy"
)

const (
	// ttl of every answer, in seconds (ledger ED-31).
	ttl = 60
	// udpSize is what we say that we can take (DNS flag day 2020). Our own
	// answers fit into 512 bytes.
	udpSize = 1232

	defaultQueriesPerSecond = 200
)

// Config of a Server. All but Inspect, Allow and QueriesPerSecond is required.
type Config struct {
	// Boundary is the id under which addresses are held and queries recorded.
	Boundary string
	// Decide is asked once for each query, so it can follow a policy that is
	// replaced. It must be safe for concurrent use.
	Decide func(policy.Host) policy.Decision
	// Inspect is asked first: an error refuses the query, and if it is an
	// *[inject.MisuseError] the record says what was found. Nil accepts all.
	Inspect func(name string) error
	Pool    *Pool
	Audit   audit.Sink // gets one record for each query
	// Allow counts a query; if it reports false, the query is refused. nil
	// allows all. It must be safe for concurrent use.
	Allow func() bool
	// QueriesPerSecond beyond which queries wait, and are lost once the socket
	// can hold no more; a burst may be twice as many. Zero means 200. Waiting,
	// unlike refusing, also bounds how fast the audit log can grow.
	QueriesPerSecond int
}

// Server answers the queries of one boundary. It is safe for concurrent use.
type Server struct {
	Config
	limit *rate.Limiter
}

// New returns a Server. It starts nothing: see [Server.ServeUDP] and
// [Server.ServeTCPConn].
func New(c Config) *Server {
	qps := cmp.Or(c.QueriesPerSecond, defaultQueriesPerSecond)
	return &Server{Config: c, limit: rate.NewLimiter(rate.Limit(qps), 2*qps)}
}

// Answer returns the answer to a message in wire format, or nil for what
// deserves none: a response, or less than a header. It records the query.
func (s *Server) Answer(msg []byte) []byte {
	start := time.Now()
	var req dns.Msg
	err := unpack(&req, msg)
	if len(msg) < headerLen || req.Response {
		return nil
	}
	v := verdict{rule: policy.DefaultRule}
	switch {
	case req.Opcode != dns.OpcodeQuery:
		v.fail(dns.RcodeNotImplemented, refusal.ProtocolDenied)
	case err != nil || !wellFormed(&req):
		v.fail(dns.RcodeFormatError, refusal.BadRequest)
	case req.IsEdns0() != nil && req.IsEdns0().Version() != 0:
		v.fail(dns.RcodeBadVers, refusal.BadRequest)
	case s.Allow != nil && !s.Allow():
		v.fail(dns.RcodeRefused, refusal.RateLimited)
	default:
		s.decide(req.Question[0], &v)
		s.inspect(req.Question[0], &v)
	}
	s.record(&req, &v, start)
	return pack(reply(&req, &v))
}

// verdict is what becomes of a query. The zero rcode is only an answer
// together with allowed.
type verdict struct {
	rcode   int
	allowed bool
	answer  dns.RR // nil: no data
	host    policy.Host
	rule    int
	glob    string
	code    refusal.Code // why not
	// observed says that the policy denies what was allowed.
	observed bool
	address  netip.Addr   // given out
	find     *inject.Find // in the name
}

func (v *verdict) fail(rcode int, code refusal.Code) {
	v.rcode, v.allowed, v.answer, v.code = rcode, false, nil, code
}

func (s *Server) decide(q dns.Question, v *verdict) {
	v.fail(dns.RcodeRefused, refusal.NetworkPolicyDenied)
	switch {
	case q.Qclass != dns.ClassINET:
		v.fail(dns.RcodeRefused, refusal.ProtocolDenied)
		return
	case isMeta(q.Qtype):
		v.fail(dns.RcodeNotImplemented, refusal.ProtocolDenied)
		return
	}
	if addr, ok := reverse(q.Name); ok && q.Qtype == dns.TypePTR {
		s.pointer(q, addr, v)
		return
	}
	host, err := policy.CanonicalHost(q.Name)
	if err != nil || host.IP().IsValid() {
		v.fail(dns.RcodeRefused, refusal.BadHost)
		return
	}
	v.host = host
	if isLocalhost(host) {
		v.allow(addressOf(q, loopback))
		return
	}
	d := s.Decide(host)
	v.rule, v.glob, v.observed = d.Rule, d.Glob, d.Reason == policy.ReasonDenied
	if d.Action != policy.Allow {
		return
	}
	if q.Qtype != dns.TypeA {
		// No AAAA, because sandboxes have no IPv6; no HTTPS and SVCB, because
		// they would lead to QUIC and to other names (decision 14).
		v.allow(nil)
		return
	}
	addr, err := s.Pool.Address(s.Boundary, host)
	if err != nil {
		v.fail(dns.RcodeServerFailure, refusal.EdgeOverloaded)
		return
	}
	v.address = addr
	v.allow(addressOf(q, addr))
}

func (v *verdict) allow(answer dns.RR) {
	v.rcode, v.allowed, v.answer, v.code = dns.RcodeSuccess, true, answer, ""
}

// inspect refuses what must not leave in a name.
func (s *Server) inspect(q dns.Question, v *verdict) {
	if s.Inspect == nil {
		return
	}
	err := s.Inspect(q.Name)
	if err == nil {
		return
	}
	v.fail(dns.RcodeRefused, refusal.PlaceholderWrongHost)
	var misuse *inject.MisuseError
	if errors.As(err, &misuse) {
		v.find = &misuse.Find
	}
}

// pointer answers for the addresses that we gave out, and for no others.
func (s *Server) pointer(q dns.Question, addr netip.Addr, v *verdict) {
	host, ok := s.Pool.Lookup(s.Boundary, addr)
	name := host.String()
	if addr == loopback {
		name, ok = "localhost", true
	}
	switch {
	case ok:
		v.host = host
		v.allow(&dns.PTR{Hdr: header(q, dns.TypePTR), Ptr: dns.Fqdn(name)})
	case Synthetic(addr):
		v.fail(dns.RcodeNameError, refusal.NetworkPolicyDenied)
	}
}

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// isLocalhost: RFC 6761 §6.3.
func isLocalhost(h policy.Host) bool {
	return h.String() == "localhost" || strings.HasSuffix(h.String(), ".localhost")
}

func (s *Server) record(req *dns.Msg, v *verdict, start time.Time) {
	r := audit.Record{
		Time: start, Boundary: s.Boundary, Mode: audit.ModeDNS, Protocol: "dns", Host: v.host.String(),
		Verdict: audit.VerdictAllow, Rule: v.rule, Glob: v.glob, Reason: string(policy.ReasonAllowed),
		Detail: dns.RcodeToString[v.rcode], DurationMS: time.Since(start).Milliseconds(),
	}
	if len(req.Question) > 0 {
		q := req.Question[0]
		r.Method = dns.Type(q.Qtype).String()
		r.Host = cmp.Or(r.Host, strings.TrimSuffix(q.Name, "."))
	}
	if v.address.IsValid() {
		r.Address = v.address.String()
	}
	if v.observed {
		r.Verdict, r.Reason = audit.VerdictObserve, string(policy.ReasonDenied)
	}
	if !v.allowed {
		r.Verdict, r.Reason, r.Severity = audit.VerdictDeny, string(v.code), v.code.Severity()
	}
	if v.find != nil {
		r.Finds, r.Severity = []inject.Find{*v.find}, audit.SeverityCritical
		if v.find.Kind == inject.FoundSecret {
			r.Host = "[redacted]"
		}
	}
	s.Audit.Record(r)
}

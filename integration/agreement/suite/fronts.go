package suite

import (
	"cmp"
	"slices"
	"strings"
)

// sorted makes the order of a suite the same every time.
func sorted(rows []Row) []Row {
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
	return rows
}

// A front is one way to name a destination before any request is sent. host is
// where the row leads if it is accepted; empty if it must not be.
type front struct {
	name, text, host, answers, reason string
}

var connects = []front{
	{"bound", connect(Bound + ":443"), Bound, "200", "allowed, and bound"},
	{"bound-case", connect("BOUND.agree.TEST:443"), Bound, "200", "names have no case"},
	{"bound-dot", connect(Bound + ".:443"), Bound, "200", "one trailing dot is the same name"},
	{"allowed", connect(Allowed + ":443"), Allowed, "200", "allowed"},
	{"allowed-case", connect("ALLOWED.agree.TEST:443"), Allowed, "200", "names have no case"},
	{"allowed-dot", connect(Allowed + ".:443"), Allowed, "200", "one trailing dot is the same name"},
	{"denied", connect(Denied + ":443"), "", "connect-403", "not allowed"},
	{"denied-case", connect("DENIED.agree.TEST:443"), "", "connect-403", "not allowed in any case"},
	{"denied-dot", connect(Denied + ".:443"), "", "connect-403", "not allowed with a dot"},
	{"denied-80", connect(Denied + ":80"), "", "connect-403", "not allowed on any port"},
	{"literal", connect("{literal}:443"), "", "connect-403", "an address is allowed only if a rule says so"},
	{"literal-80", connect("{literal}:80"), "", "connect-403", "an address is allowed only if a rule says so"},
	{"mapped", connect("[{mapped}]:443"), "", "connect-403", "IPv4 in IPv6 is an address"},
	{"decimal", connect("{decimal}:443"), "", "connect-400", "only some parsers take this for an address"},
	{"hex", connect("{hex}:443"), "", "connect-400", "only some parsers take this for an address"},
	{"octal", connect("{octal}:443"), "", "connect-400", "only some parsers take this for an address"},
	{"short", connect("{short}:443"), "", "connect-400", "only some parsers take this for an address"},
	{"port-none", connect(Denied), "", "connect-400", "host and port, both"},
	{"port-empty", connect(Denied + ":"), "", "connect-400", "host and port, both"},
	{"port-0", connect(Denied + ":0"), "", "connect-400", "no such port"},
	{"port-big", connect(Denied + ":65979"), "", "connect-400", "443 to a parser that wraps at 16 bits"},
	{"port-word", connect(Denied + ":https"), "", "connect-400", "ports are numbers"},
	{"port-twice", connect(Allowed + ":443:443"), "", "connect-400", "which is the port?"},
	{"port-25", connect(Allowed + ":25"), "", "connect-403", "mail is on the list of denied ports"},
	{"absolute", connect("https://" + Denied + ":443"), "", "connect-400", "authority form only"},
	{"path", "CONNECT /x HTTP/1.1\r\nHost: " + Denied + ":443\r\n\r\n", "", "connect-400", "Host is never taken for the target"},
	{"empty", connect(":443"), "", "connect-400", "no host"},
	{"v6-bare", connect("::1:443"), "", "connect-400", "IPv6 needs brackets"},
	{"v6", connect("[::1]:443"), "", "connect-403", "an address is allowed only if a rule says so"},
	{"zone", connect("[fe80::1%25lo]:443"), "", "connect-400", "zones mean something only to the machine that wrote them"},
	{"brackets", connect("[" + Denied + "]:443"), "", "connect-400", "brackets are for IPv6"},
	{"userinfo", connect(Allowed + "@" + Denied + ":443"), "", "connect-400", "parsers differ on which side of @ the host is"},
	{"userinfo-port", connect(Allowed + ":443@" + Denied + ":443"), "", "connect-400", "some read the first, some the last"},
	{"encoded", connect("%64enied.agree.test:443"), "", "connect-400", "an authority isn't percent-encoded here"},
	{"nul", connect(Allowed + "\x00." + Denied + ":443"), "", "connect-400", "NUL ends a name for some"},
	{"suffix", connect(Allowed + ".evil.test:443"), "", "connect-403", "an allowed name in front of another is another"},
	{"prefix", connect("not" + Allowed + ":443"), "", "connect-403", "a name that ends like an allowed one is another"},
	{"host-denied", "CONNECT " + Bound + ":443 HTTP/1.1\r\nHost: " + Denied + ":443\r\n\r\n", "", "connect-421", "the Host of a CONNECT has to agree"},
	{"host-bound", "CONNECT " + Denied + ":443 HTTP/1.1\r\nHost: " + Bound + ":443\r\n\r\n", "", "connect-421", "the Host of a CONNECT has to agree"},
	{"host-twice", "CONNECT " + Bound + ":443 HTTP/1.1\r\nHost: " + Bound + ":443\r\nHost: " + Denied + "\r\n\r\n", "", "connect-400", "two Host fields"},
	{"host-port", "CONNECT " + Bound + ":443 HTTP/1.1\r\nHost: " + Bound + ":80\r\n\r\n", "", "connect-421", "another port is another destination"},
	{"host-bare", "CONNECT " + Bound + ":443 HTTP/1.1\r\nHost: " + Bound + "\r\n\r\n", Bound, "200", "a Host without a port means that of the target"},
	{"body", "CONNECT " + Bound + ":443 HTTP/1.1\r\nHost: " + Bound + ":443\r\nContent-Length: 5\r\n\r\n", "", "connect-400", "a CONNECT has no body"},
}

func connectRows() []Row {
	var rows []Row
	for _, c := range connects {
		rows = append(rows, Row{
			ID: "explicit/connect/" + c.name, Mode: Explicit, Connect: c.text, TLS: true,
			SNI: c.host, Leaf: c.host, Send: []string{on(c.host, mine(c.host))},
			Answers: strings.Fields(c.answers), Reach: reached(c.host, strings.Fields(c.answers)), Reason: c.reason,
		})
	}
	// The binding is for 443: other ports of the bound host have no secret.
	for _, c := range []front{
		{"bound-8443", connect(Bound + ":8443"), Bound, "403", "a secret is bound to a port, too"},
		{"cleartext", connect(Bound + ":80"), "", "403", "no secret in cleartext, and no placeholder either"},
	} {
		rows = append(rows, Row{
			ID: "explicit/connect/" + c.name, Mode: Explicit, Connect: c.text, TLS: c.host != "", SNI: c.host, Leaf: c.host,
			Send: []string{"GET /{id} HTTP/1.0\r\n{auth}\r\n"}, Answers: []string{c.answers}, Reason: c.reason,
		})
	}
	return rows
}

func plain(target, host, auth string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + auth + "\r\n"
}

// absolutes are requests to the proxy itself. host is whom they reach.
var absolutes = []front{
	{"allowed", plain("http://"+Allowed+"/{id}", Allowed, ""), Allowed + ":80", "200", "allowed"},
	{"allowed-case", plain("http://ALLOWED.agree.test.:80/{id}", Allowed, ""), Allowed + ":80", "200", "agrees once it is canonical"},
	{"bound", plain("http://"+Bound+"/{id}", Bound, ""), Bound + ":80", "200", "allowed, without a secret"},
	{"bound-placeholder", plain("http://"+Bound+"/{id}", Bound, "{auth}"), "", "403", "no secret in cleartext, and no placeholder either"},
	{"bound-443", plain("http://"+Bound+":443/{id}", Bound+":443", "{auth}"), "", "403", "cleartext on the bound port is cleartext"},
	{"https", plain("https://"+Bound+"/{id}", Bound, "{auth}"), "", "400", "the way here was in cleartext: CONNECT first"},
	{"denied", plain("http://"+Denied+"/{id}", Denied, "{auth}"), "", "403", "not allowed"},
	{"denied-dot", plain("http://"+Denied+"./{id}", Denied, "{auth}"), "", "403", "not allowed with a dot"},
	{"literal", plain("http://{literal}/{id}", "{literal}", "{auth}"), "", "403", "an address is allowed only if a rule says so"},
	{"decimal", plain("http://{decimal}/{id}", "{decimal}", "{auth}"), "", "400", "only some parsers take this for an address"},
	{"hex", plain("http://{hex}/{id}", "{hex}", "{auth}"), "", "400", "only some parsers take this for an address"},
	{"octal", plain("http://{octal}/{id}", "{octal}", "{auth}"), "", "400", "only some parsers take this for an address"},
	{"short", plain("http://{short}/{id}", "{short}", "{auth}"), "", "400", "only some parsers take this for an address"},
	{"mapped", plain("http://[{mapped}]/{id}", "[{mapped}]", "{auth}"), "", "403", "IPv4 in IPv6 is an address"},
	{"host-denied", plain("http://"+Allowed+"/{id}", Denied, "{auth}"), "", "421", "target and Host disagree"},
	{"host-allowed", plain("http://"+Denied+"/{id}", Allowed, "{auth}"), "", "421", "target and Host disagree"},
	{"host-port", plain("http://"+Allowed+":80/{id}", Allowed+":8080", "{auth}"), "", "421", "target and Host disagree on the port"},
	{"host-twice", "GET http://" + Allowed + "/{id} HTTP/1.1\r\nHost: " + Allowed + "\r\nHost: " + Denied + "\r\n\r\n", "", "400", "two Host fields"},
	{"userinfo", plain("http://"+Allowed+"@"+Denied+"/{id}", Allowed, "{auth}"), "", "400", "parsers differ on which side of @ the host is"},
	{"brackets", plain("http://["+Denied+"]/{id}", Allowed, "{auth}"), "", "400", "brackets are for IPv6"},
	{"zone", plain("http://[::1%25lo]/{id}", Allowed, "{auth}"), "", "400", "zones mean something only to the machine that wrote them"},
	{"origin", plain("/{id}", Allowed, "{auth}"), "", "400", "the proxy itself serves nothing"},
	{"next-denied", plain("http://"+Allowed+"/{id}", Allowed, "") + plain("http://"+Denied+"/{id}", Denied, ""), Allowed + ":80", "200 403", "each request is judged by itself"},
	{"smuggled", "POST http://" + Allowed + "/{id} HTTP/1.1\r\nHost: " + Allowed + "\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + plain("http://"+Denied+"/{id}", Denied, ""), "", "400", "two lengths"},
	{"h2c", "GET http://" + Allowed + "/{id} HTTP/1.1\r\nHost: " + Allowed + "\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n", "", "400", "HTTP/2 in cleartext would go unseen"},
}

func absoluteRows() []Row {
	var rows []Row
	for _, c := range absolutes {
		rows = append(rows, Row{
			ID: "explicit/absolute/" + c.name, Mode: Explicit, Send: []string{c.text},
			Answers: strings.Fields(c.answers), Reach: reached(c.host, strings.Fields(c.answers)), Reason: c.reason,
		})
	}
	return rows
}

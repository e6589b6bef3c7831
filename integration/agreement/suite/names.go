package suite

import "strings"

// serverNames are sent in the ClientHello of a connection for {self}. In
// transparent mode the server name is what makes the connection somebody's, so
// there only those that are nobody's stay.
var serverNames = []front{
	{"case", "{SELF}", "", "200", "names have no case"},
	{"other", "{other}", "", "closed", "the tunnel is for another host"},
	{"denied", Denied, "", "closed", "the tunnel is for another host"},
	{"none", "", "", "200", "the CONNECT says where"},
	{"literal", elsewhere, "", "closed", "an address is no server name"},
	{"dot", "{self}.", "", "closed", "a server name has no trailing dot (RFC 6066)"},
	{"empty-label", "a..agree.test", "", "closed", "an empty label"},
	{"wildcard", "*.agree.test", "", "closed", "not a name"},
	{"userinfo", "{self}@" + Denied, "", "closed", "not a name"},
	{"path", "../../{self}", "", "closed", "not a name"},
	{"nul", "{self}\x00." + Denied, "", "closed", "NUL ends a name for some"},
	{"long", strings.Repeat("a", 250) + ".test", "", "closed", "longer than a name can be"},
}

func serverNameRows(mode, self string) []Row {
	var rows []Row
	for _, c := range serverNames {
		r := open(mode, self)
		r.ID = strings.Join([]string{mode, "sni", name(self), c.name}, "/")
		r.SNI = on(self, c.text)
		r.Send = []string{on(self, mine("{self}"))}
		r.Answers, r.Reason = strings.Fields(c.answers), c.reason
		if mode == Transparent {
			switch c.name {
			case "other", "denied":
				// The name is the connection's; the Host disagrees with it.
				r.Leaf = r.SNI
				r.Send = []string{on(self, get("{self}"))}
				r.Answers, r.Reason = []string{"421", "closed"}, "the server name says where, and Host disagrees"
			case "none":
				r.Answers, r.Reason = []string{"closed"}, "no name, and none behind the address"
			}
		}
		r.Reach = reached(self, r.Answers)
		rows = append(rows, r)
	}
	return rows
}

// originals are transparent connections: text is the destination, and host
// whom the request names, in TLS and in HTTP.
var originals = []struct {
	name, to, sni, host, reach, answers, reason string
}{
	{"bound", Bound + ":443", Bound, Bound, Bound, "200", "destination, server name and Host agree"},
	{"allowed", Allowed + ":443", Allowed, Allowed, Allowed, "200", "destination, server name and Host agree"},
	{"bound-no-sni", Bound + ":443", "", Bound, Bound, "200", "the address was given out for one name"},
	{"allowed-no-sni", Allowed + ":443", "", Allowed, Allowed, "200", "the address was given out for one name"},
	{"allowed-no-sni-bound", Allowed + ":443", "", Bound, "", "421 closed", "the address was given out for another name"},
	{"bound-no-sni-denied", Bound + ":443", "", Denied, "", "421 closed", "the address was given out for another name"},
	{"elsewhere-bound", elsewhere + ":443", Bound, Bound, Bound, "200", "the name is resolved anew: the address typed is never dialled"},
	{"elsewhere-allowed", elsewhere + ":443", Allowed, Allowed, Allowed, "200", "the name is resolved anew: the address typed is never dialled"},
	{"elsewhere-denied", elsewhere + ":443", Denied, Denied, "", "403", "not allowed, and told inside TLS"},
	{"elsewhere-literal", elsewhere + ":443", "", elsewhere, "", "closed", "no name, and none behind the address"},
	{"v6", "[2001:db8::66]:443", Bound, Bound, "", "unreachable", "there is no IPv6 in a sandbox, so none gets round the edge"},
	{"bound-denied", Bound + ":443", Denied, Denied, "", "403", "the server name says where"},
	{"bound-8443", Bound + ":8443", Bound, Bound, "", "403", "a secret is bound to a port, too"},
	{"metadata", "169.254.169.254:443", Denied, Denied, "", "403", "the metadata service is no way round"},
	{"own-proxy", "192.0.2.1:443", Denied, Denied, "", "403", "nor is the proxy's own address"},
}

// cleartexts are transparent connections without TLS.
var cleartexts = []struct {
	name, to, send, reach, answers, reason string
}{
	{"allowed", Allowed + ":80", plain("/{id}", Allowed, ""), Allowed + ":80", "200", "destination and Host agree"},
	{"elsewhere-allowed", elsewhere + ":80", plain("/{id}", Allowed, ""), Allowed + ":80", "200", "Host says where"},
	{"elsewhere-denied", elsewhere + ":80", plain("/{id}", Denied, "{auth}"), "", "403", "not allowed"},
	{"elsewhere-literal", elsewhere + ":80", plain("/{id}", "{literal}", "{auth}"), "", "403", "an address is allowed only if a rule says so"},
	{"bound-placeholder", Bound + ":80", plain("/{id}", Bound, "{auth}"), "", "403", "no secret in cleartext, and no placeholder either"},
	{"bound-443", Bound + ":443", plain("/{id}", Bound, "{auth}"), "", "403", "cleartext on the bound port is cleartext"},
	{"port", Allowed + ":80", plain("/{id}", Allowed+":8080", "{auth}"), "", "421", "another port is another destination"},
	{"target", Allowed + ":80", plain("http://"+Denied+"/{id}", Allowed, "{auth}"), "", "421", "target and Host disagree"},
	{"next-denied", Allowed + ":80", plain("/{id}", Allowed, "") + plain("/{id}", Denied, ""), Allowed + ":80", "200 421 closed", "the first request made the connection its host's"},
	{"next-bound", Allowed + ":80", plain("/{id}", Allowed, "") + plain("/{id}", Bound, ""), Allowed + ":80", "200 421 closed", "the first request made the connection its host's"},
	{"nameless", elsewhere + ":80", "GET /{id} HTTP/1.0\r\n\r\n", "", "400", "no name at all"},
	{"connect", elsewhere + ":80", connect(Denied + ":443"), "", "400", "this is no proxy"},
	{"opaque", elsewhere + ":22", "SSH-2.0-agree\r\n", "", "closed", "neither TLS nor HTTP, and no name"},
	{"mail", Allowed + ":25", "EHLO agree\r\n", "", "closed", "mail is on the list of denied ports"},
}

func originalRows() []Row {
	var rows []Row
	for _, c := range originals {
		leaf := c.sni
		if leaf == "" {
			leaf, _, _ = strings.Cut(c.to, ":")
		}
		rows = append(rows, Row{
			ID: "transparent/original/" + c.name, Mode: Transparent, Destination: c.to, TLS: true, SNI: c.sni, Leaf: leaf,
			Send:    []string{on(c.host, authFor(c.host))},
			Answers: strings.Fields(c.answers), Reach: reached(c.reach, strings.Fields(c.answers)), Reason: c.reason,
		})
	}
	for _, c := range cleartexts {
		rows = append(rows, Row{
			ID: "transparent/cleartext/" + c.name, Mode: Transparent, Destination: c.to, Send: []string{c.send},
			Answers: strings.Fields(c.answers), Reach: reached(c.reach, strings.Fields(c.answers)), Reason: c.reason,
		})
	}
	return rows
}

// authFor is a request with the placeholder, except for the host where even
// that would be refused for its own sake.
func authFor(host string) string {
	if host == Allowed {
		return plain("/{id}", host, "")
	}
	return plain("/{id}", host, "{auth}")
}

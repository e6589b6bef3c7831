package suite

import "strings"

// A message is what is sent on a connection for {self}: HTTP/1, in TLS. Parts
// that wait for the answer to the one before are divided by "||".
type message struct {
	name, text, answers, reason string
}

// get is a well-formed request with a Host line.
func get(host string) string { return "GET /{id} HTTP/1.1\r\nHost: " + host + "\r\n{auth}\r\n" }

// mine is get where it belongs: the placeholder only if the host is bound.
func mine(host string) string { return "GET /{id} HTTP/1.1\r\nHost: " + host + "\r\n{own}\r\n" }

func post(fields, body string) string {
	return "POST /{id} HTTP/1.1\r\nHost: {self}\r\n" + fields + "{own}\r\n" + body
}

var hostMessages = []message{
	{"same", mine("{self}"), "200", "the host of the connection"},
	{"case", mine("{SELF}"), "200", "names have no case"},
	{"dot", mine("{self}."), "200", "one trailing dot is the same name"},
	{"case-dot-port", mine("{SELF}.:443"), "200", "all three together are still the same name"},
	{"port", mine("{self}:443"), "200", "the port of the connection"},
	{"port-80", get("{self}:80"), "421 closed", "another port is another destination"},
	{"port-8443", get("{self}:8443"), "421 closed", "another port is another destination"},
	{"port-0", get("{self}:0"), "400", "no such port"},
	{"port-big", get("{self}:65979"), "400", "443 to a parser that wraps at 16 bits"},
	{"port-word", get("{self}:https"), "400", "ports are numbers"},
	{"two-dots", get("{self}.."), "400", "an empty label"},
	{"other", get("{other}"), "421 closed", "another host, allowed or not, has a connection of its own"},
	{"denied", get("{denied}"), "421 closed", "fronting: the connection is for one, the request for another"},
	{"literal", get("{literal}"), "421 closed", "an address is another destination"},
	{"decimal", get("{decimal}"), "400", "only some parsers take this for an address"},
	{"hex", get("{hex}"), "400", "only some parsers take this for an address"},
	{"octal", get("{octal}"), "400", "only some parsers take this for an address"},
	{"short", get("{short}"), "400", "only some parsers take this for an address"},
	{"mapped", get("[{mapped}]"), "421 closed", "IPv4 in IPv6 is still another destination"},
	{"zone", get("[fe80::1%25eth0]"), "400", "zones mean something only to the machine that wrote them"},
	{"brackets", get("[{self}]"), "400", "brackets are for IPv6"},
	{"userinfo", get("{self}@{denied}"), "400", "parsers differ on which side of @ the host is"},
	{"userinfo-2", get("{denied}@{self}"), "400", "parsers differ on which side of @ the host is"},
	{"encoded", get("%62ound.agree.test"), "400", "a Host field isn't percent-encoded"},
	{"list", get("{self}, {denied}"), "400", "a Host field is no list"},
	{"space", get("{self} {denied}"), "400", "a space ends a name for some"},
	{"nul", get("{self}\x00.{denied}"), "400", "NUL ends a name for some"},
	{"slash", get("{denied}/{self}"), "400", "a slash ends a name for some"},
	{"backslash", get("{denied}\\{self}"), "400", "a backslash ends a name for some"},
	{"empty", get(""), "400", "names no host"},
	{"none", "GET /{id} HTTP/1.1\r\n{auth}\r\n", "400", "HTTP/1.1 requires the field"},
	{"none-1.0", "GET /{id} HTTP/1.0\r\n{own}\r\n", "200", "HTTP/1.0 doesn't: the connection says where"},
	{"twice-same", "GET /{id} HTTP/1.1\r\nHost: {self}\r\nHost: {self}\r\n{auth}\r\n", "400", "two fields, even if they agree"},
	{"twice", "GET /{id} HTTP/1.1\r\nHost: {self}\r\nHost: {denied}\r\n{auth}\r\n", "400", "two fields: one for the policy, one for the origin"},
	{"twice-reversed", "GET /{id} HTTP/1.1\r\nHost: {denied}\r\nhost: {self}\r\n{auth}\r\n", "400", "two fields: one for the policy, one for the origin"},
	{"twice-space", "GET /{id} HTTP/1.1\r\nHost: {self}\r\nHost : {denied}\r\n{auth}\r\n", "400", "a space before the colon hides a field from some"},
	{"folded", "GET /{id} HTTP/1.1\r\nHost: {self}\r\n {denied}\r\n{auth}\r\n", "400", "a folded line is a second value for some"},
	{"underscore", "GET /{id} HTTP/1.1\r\nHost: {self}\r\nX-Forwarded-Host: {denied}\r\n{own}\r\n", "200", "not a field that decides anything"},
}

var targetMessages = []message{
	{"same", "GET https://{self}/{id} HTTP/1.1\r\nHost: {self}\r\n{own}\r\n", "200", "absolute form that agrees"},
	{"case-port", "GET https://{SELF}.:443/{id} HTTP/1.1\r\nHost: {self}\r\n{own}\r\n", "200", "absolute form that agrees once it is canonical"},
	{"scheme", "GET http://{self}/{id} HTTP/1.1\r\nHost: {self}\r\n{auth}\r\n", "400", "cleartext on a connection with TLS"},
	{"scheme-odd", "GET ftp://{self}/{id} HTTP/1.1\r\nHost: {self}\r\n{auth}\r\n", "400", "not a scheme of this connection"},
	{"port", "GET https://{self}:8443/{id} HTTP/1.1\r\nHost: {self}\r\n{auth}\r\n", "421 closed", "another port is another destination"},
	{"other", "GET https://{other}/{id} HTTP/1.1\r\nHost: {self}\r\n{auth}\r\n", "421 closed", "the target names another host"},
	{"denied", "GET https://{denied}/{id} HTTP/1.1\r\nHost: {self}\r\n{auth}\r\n", "421 closed", "the target names another host"},
	{"literal", "GET https://{literal}/{id} HTTP/1.1\r\nHost: {self}\r\n{auth}\r\n", "421 closed", "the target names an address"},
	{"host-denied", "GET https://{self}/{id} HTTP/1.1\r\nHost: {denied}\r\n{auth}\r\n", "421 closed", "many servers let the target win and never look at Host"},
	{"both-denied", "GET https://{denied}/{id} HTTP/1.1\r\nHost: {denied}\r\n{auth}\r\n", "421 closed", "they agree with each other but not with the connection"},
	{"userinfo", "GET https://{self}@{denied}/{id} HTTP/1.1\r\nHost: {self}\r\n{auth}\r\n", "400", "parsers differ on which side of @ the host is"},
	{"backslash", "GET https://{denied}\\@{self}/{id} HTTP/1.1\r\nHost: {self}\r\n{auth}\r\n", "400", "browsers and libraries differ on backslashes"},
	{"brackets", "GET https://[{self}]/{id} HTTP/1.1\r\nHost: {self}\r\n{auth}\r\n", "400", "brackets are for IPv6"},
	{"no-host", "GET https:///{id} HTTP/1.1\r\nHost: {self}\r\n{auth}\r\n", "400", "an absolute form without an authority"},
	{"network-path", "GET //{denied}/{id} HTTP/1.1\r\nHost: {self}\r\n{own}\r\n", "200", "a path that begins with two slashes is a path"},
	{"connect", "CONNECT {denied}:443 HTTP/1.1\r\nHost: {denied}:443\r\n\r\n", "400", "no tunnel in a tunnel"},
	{"connect-self", "CONNECT {self}:443 HTTP/1.1\r\nHost: {self}:443\r\n\r\n", "400", "no tunnel in a tunnel"},
}

var nextMessages = []message{
	{"same", mine("{self}") + mine("{self}"), "200 200", "two requests, one host"},
	{"other", mine("{self}") + get("{other}"), "200 421 closed", "the second request has no decision of its own to hide behind"},
	{"denied", mine("{self}") + get("{denied}"), "200 421 closed", "the second request is judged like the first"},
	{"denied-later", mine("{self}") + "||" + get("{denied}"), "200 421 closed", "the same after an answer"},
	{"other-later", mine("{self}") + "||" + get("{other}"), "200 421 closed", "the same after an answer"},
	{"literal", mine("{self}") + get("{literal}"), "200 421 closed", "an address in the second request"},
	{"target", mine("{self}") + "GET https://{denied}/{id} HTTP/1.1\r\nHost: {self}\r\n{auth}\r\n", "200 421 closed", "an absolute form in the second request"},
	{"twice", mine("{self}") + "GET /{id} HTTP/1.1\r\nHost: {self}\r\nHost: {denied}\r\n{auth}\r\n", "200 400", "two Host fields in the second request"},
	{"connect", mine("{self}") + "CONNECT {denied}:443 HTTP/1.1\r\nHost: {denied}:443\r\n\r\n", "200 400", "a tunnel as the second request"},
	{"after-refusal", get("{denied}") + mine("{self}"), "421 closed", "nothing is served after a disagreement"},
}

// inner is the request that hides in the body of another.
const inner = "GET /{id} HTTP/1.1\r\nHost: {other}\r\n{auth}\r\n"

var smuggled = []message{
	{"length-0", post("Content-Length: 0\r\n", inner), "200 421 closed", "what follows an empty body is a request, and judged"},
	{"both", post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"+inner), "400", "two lengths: each parser takes another"},
	{"both-reversed", post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"+inner), "400", "two lengths: each parser takes another"},
	{"lengths", post("Content-Length: 0\r\nContent-Length: 30\r\n", inner), "400", "lengths that differ"},
	{"lengths-same", post("Content-Length: 0\r\nContent-Length: 0\r\n", inner), "400", "one too many, even if they agree"},
	{"length-list", post("Content-Length: 0, 0\r\n", inner), "400", "a length is no list"},
	{"length-sign", post("Content-Length: +0\r\n", inner), "400", "digits only"},
	{"length-hex", post("Content-Length: 0x0\r\n", inner), "400", "digits only"},
	{"length-space", post("Content-Length : 0\r\n", inner), "400", "a space before the colon hides a field from some"},
	{"coding-list", post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"+inner), "400", "only chunked, alone"},
	{"coding-odd", post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"+inner), "400", "only chunked, alone"},
	{"coding-tab", post("Transfer-Encoding:\x0bchunked\r\n", "0\r\n\r\n"+inner), "400", "a control byte that some trim"},
	{"coding-twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n"+inner), "400", "only chunked, alone"},
	{"coding-folded", post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"+inner), "400", "a folded line"},
	{"bare-lf", "POST /{id} HTTP/1.1\nHost: {self}\nContent-Length: 0\n\n" + inner, "400", "lines end in CRLF"},
	{"bare-cr", post("X: a\rContent-Length: 30\r\n", inner), "400", "CR alone ends a line for some"},
	{"chunk-lf", post("Transfer-Encoding: chunked\r\n", "1\nx\r\n0\r\n\r\n"+inner), "400", "a chunk size ends in CRLF"},
	{"chunk-extension-lf", post("Transfer-Encoding: chunked\r\n", "1;a\nb\r\nx\r\n0\r\n\r\n"+inner), "400", "so does its extension"},
	{"chunk-sign", post("Transfer-Encoding: chunked\r\n", "+0\r\n\r\n"+inner), "400", "sizes are plain hexadecimal"},
	{"chunk-overflow", post("Transfer-Encoding: chunked\r\n", "10000000000000000\r\n\r\n"+inner), "400", "zero to a parser that wraps at 64 bits"},
	{"chunk-long", post("Transfer-Encoding: chunked\r\n", "1\r\nxy\r\n0\r\n\r\n"+inner), "400", "more than the chunk says"},
	{"upgrade", "GET /{id} HTTP/1.1\r\nHost: {self}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n{auth}\r\n" + inner, "400", "HTTP/2 in cleartext would go unseen"},
	{"preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + inner, "505", "HTTP/2 only where ALPN has agreed on it"},
}

func messageRows(mode, self string) []Row {
	var rows []Row
	for place, messages := range map[string][]message{
		"host": hostMessages, "target": targetMessages, "next": nextMessages, "smuggled": smuggled,
	} {
		for _, m := range messages {
			r := open(mode, self)
			r.ID = strings.Join([]string{mode, place, name(self), m.name}, "/")
			r.Send = strings.Split(on(self, m.text), "||")
			r.Answers = strings.Fields(m.answers)
			r.Reach = reached(self, r.Answers)
			r.Reason = m.reason
			rows = append(rows, r)
		}
	}
	return sorted(rows)
}

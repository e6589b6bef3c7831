package suite

import "strings"

// h2case are the streams of one HTTP/2 connection for {self}, divided by "||".
// Each is a list of fields in lines; :method, :scheme and :path are added
// where they aren't given, and auth is the placeholder.
type h2case struct {
	name, streams, answers, reason string
}

var h2cases = []h2case{
	{"same", ":authority={self} own", "200", "the host of the connection"},
	{"case", ":authority={SELF} own", "200", "names have no case"},
	{"dot", ":authority={self}. own", "200", "one trailing dot is the same name"},
	{"port", ":authority={self}:443 own", "200", "the port of the connection"},
	{"port-80", ":authority={self}:80 auth", "421", "another port is another destination"},
	{"other", ":authority={other} auth", "421", "another host has a connection of its own, whatever the certificate says"},
	{"denied", ":authority={denied} auth", "421", "fronting"},
	{"literal", ":authority={literal} auth", "421", "an address is another destination"},
	{"decimal", ":authority={decimal} auth", "400", "only some parsers take this for an address"},
	{"host-same", ":authority={self} host={self} own", "200", "both agree"},
	{"host-only", "host={self} own", "200", "Host stands in for :authority"},
	{"host-only-other", "host={other} auth", "421", "Host stands in for :authority"},
	{"host-denied", ":authority={self} host={denied} auth", "421", "a bridge to HTTP/1.1 would pass one of them on"},
	{"host-other", ":authority={self} host={other} auth", "421", "a bridge to HTTP/1.1 would pass one of them on"},
	{"authority-denied", ":authority={denied} host={self} auth", "421", "a bridge to HTTP/1.1 would pass one of them on"},
	{"host-twice", ":authority={self} host={self} host={denied} auth", "421", "two Host fields"},
	{"authority-twice", ":authority={self} :authority={denied} auth", "reset", "a malformed request (RFC 9113)"},
	{"userinfo", ":authority={self}@{denied} auth", "reset", "parsers differ on which side of @ the host is"},
	{"brackets", ":authority=[{self}] auth", "400", "brackets are for IPv6"},
	{"list", ":authority={self},{denied} auth", "400", "an authority is no list"},
	{"scheme", ":scheme=http :authority={self} own", "200", "a scheme that the connection belies is ignored; nothing leaves in cleartext"},
	{"path-absolute", ":path=https://{denied}/{id} :authority={self} auth", "421", "a path that is a whole URL names a host as well"},
	{"connect", ":method=CONNECT :authority={denied}:443", "421", "no tunnel in a tunnel"},
	{"late-authority", "x=y :authority={denied} auth", "reset", "pseudo-fields come first (RFC 9113)"},
	{"forwarded", ":authority={self} x-forwarded-host={denied} own", "200", "not a field that decides anything"},
	{"second-same", ":authority={self} own||:authority={self} own", "200 200", "two streams, one host"},
	{"second-other", ":authority={self} own||:authority={other} auth", "200 421", "every stream is judged by itself"},
	{"second-denied", ":authority={self} own||:authority={denied} auth", "200 421", "every stream is judged by itself"},
	{"second-literal", ":authority={self} own||:authority={literal} auth", "200 421", "every stream is judged by itself"},
	{"second-host", ":authority={self} own||:authority={self} host={denied} auth", "200 421", "every stream is judged by itself"},
}

func streamRows(mode, self string) []Row {
	var rows []Row
	for _, c := range h2cases {
		r := open(mode, self)
		r.ID = strings.Join([]string{mode, "stream", name(self), c.name}, "/")
		for text := range strings.SplitSeq(on(self, c.streams), "||") {
			r.Streams = append(r.Streams, fields(self, text))
		}
		r.Answers, r.Reason = strings.Fields(c.answers), c.reason
		r.Reach = reached(self, r.Answers)
		rows = append(rows, r)
	}
	return rows
}

func fields(self, text string) []Field {
	given := map[string]bool{}
	var list []Field
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		switch {
		case word == "auth" || word == "own" && self == Bound:
			list = append(list, Field{"authorization", "Bearer {placeholder}"})
		case word == "own":
		default:
			given[name] = true
			list = append(list, Field{name, value})
		}
	}
	if !given[":method"] {
		list = append([]Field{{":method", "GET"}}, list...)
	}
	if list[0].Value == "CONNECT" {
		return list
	}
	if !given[":path"] {
		list = append([]Field{{":path", "/{id}"}}, list...)
	}
	if !given[":scheme"] {
		list = append([]Field{{":scheme", "https"}}, list...)
	}
	return list
}

// Package suite holds the agreement suite: what a client can say about where a
// request goes, in every place at once, and what a proxy that holds a secret
// has to make of it.
//
// [Rows] are data. [Client] plays one row with its own framing, because
// libraries refuse to write most of them. [Origins] are the hosts that the rows
// name; they count. [Judge] compares what a row said with what the origins saw:
// the secret reaches the bound origin and nobody else, and no denied host sees
// a connection, whatever was answered.
package suite

import "strings"

// Modes of a row.
const (
	Explicit    = "explicit"    // the client knows the proxy
	Transparent = "transparent" // its connections are redirected
)

// Names of the hosts in rows. A literal address is the fourth: it differs from
// run to run and is written {literal}.
const (
	Bound   = "bound.agree.test"   // allowed, and the secret is bound to it
	Allowed = "allowed.agree.test" // allowed
	Denied  = "denied.agree.test"  // not allowed
)

// A Row is one thing that a client does. Its texts may hold these words in
// braces: id (of the row, so that origins can tell whose request they see),
// placeholder, auth (a header line with the placeholder), literal (an address
// that isn't allowed) and other spellings of it: decimal, hex, octal, short,
// mapped.
type Row struct {
	ID   string `json:"id"`
	Mode string `json:"mode"`
	// Connect is a whole CONNECT head. Empty: the requests go to the proxy
	// itself, or the row is transparent.
	Connect string `json:"connect,omitempty"`
	// Destination is what a transparent client connects to.
	Destination string `json:"destination,omitempty"`
	TLS         bool   `json:"tls,omitempty"`
	SNI         string `json:"sni,omitempty"` // empty: no server name is sent
	// Leaf is the name that the proxy's certificate has to have.
	Leaf string `json:"leaf,omitempty"`
	// Send are HTTP/1 messages. Each but the first waits for the answer to the
	// one before; what is to be pipelined stands in one.
	Send []string `json:"send,omitempty"`
	// Streams are HTTP/2 requests, opened at once.
	Streams [][]Field `json:"streams,omitempty"`

	// Answers are the statuses expected: of a CONNECT that is refused
	// ("connect-403"), of each request; "closed" is an end without an answer,
	// "reset" that of one stream; "unreachable" that no connection could be made.
	Answers []string `json:"answers"`
	// Reach names the origins that see a request, once for each.
	Reach []string `json:"reach,omitempty"`
	// Reason says why the answers are right.
	Reason string `json:"reason"`
}

// Field is one HTTP/2 header field, pseudo or not.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Rows returns the whole suite. Every call makes it anew.
func Rows() []Row {
	var rows []Row
	rows = append(rows, connectRows()...)
	rows = append(rows, absoluteRows()...)
	rows = append(rows, originalRows()...)
	for _, mode := range []string{Explicit, Transparent} {
		for _, self := range []string{Bound, Allowed} {
			rows = append(rows, serverNameRows(mode, self)...)
			rows = append(rows, messageRows(mode, self)...)
			rows = append(rows, streamRows(mode, self)...)
		}
	}
	return rows
}

// open returns a row that has a connection for host, as far as TLS.
func open(mode, host string) Row {
	r := Row{Mode: mode, TLS: true, SNI: host, Leaf: host}
	if mode == Explicit {
		r.Connect = connect(host + ":443")
	} else {
		r.Destination = elsewhere + ":443"
	}
	return r
}

// elsewhere is where transparent clients connect to: an address that belongs
// to none of the hosts, so that going there would be seen.
const elsewhere = "203.0.113.66"

func connect(target string) string {
	return "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n"
}

// other returns the host that a connection for self isn't for.
func other(self string) string {
	if self == Bound {
		return Allowed
	}
	return Bound
}

// name shortens a host for ids.
func name(host string) string {
	short, _, _ := strings.Cut(host, ".")
	return short
}

// on puts the hosts of a connection for self into a text. own is the header
// line with the placeholder where it belongs, nothing elsewhere.
func on(self, text string) string {
	own := ""
	if self == Bound {
		own = "{auth}"
	}
	return strings.NewReplacer("{self}", self, "{SELF}", strings.ToUpper(self), "{other}", other(self), "{denied}", Denied, "{own}", own).Replace(text)
}

// reached returns self once for each answer of 200.
func reached(self string, answers []string) []string {
	var reach []string
	for _, a := range answers {
		if a == "200" {
			reach = append(reach, self)
		}
	}
	return reach
}

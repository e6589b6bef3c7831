package wire

import (
	"bytes"
	"net/http"
	"strconv"
)

// checkTarget accepts the request-target forms that are in place: origin-form
// always, asterisk-form for OPTIONS, absolute-form with a plain authority, and
// authority-form for CONNECT to a proxy (RFC 9112 §3.2).
func checkTarget(method, target []byte, proxy bool) *Error {
	if len(target) == 0 {
		return reject(http.StatusBadRequest, "empty target")
	}
	for _, c := range target {
		if c <= ' ' || c == 0x7f || c == '#' {
			return reject(http.StatusBadRequest, "malformed target")
		}
	}
	switch {
	case is(method, "connect"):
		if !proxy || string(method) != http.MethodConnect {
			return reject(http.StatusBadRequest, "CONNECT out of place")
		}
		return checkConnectTarget(target)
	case target[0] == '/':
		return nil
	case string(target) == "*":
		if string(method) != http.MethodOptions {
			return reject(http.StatusBadRequest, "asterisk-form without OPTIONS")
		}
		return nil
	}
	return checkAbsolute(target)
}

// checkAbsolute refuses userinfo and backslashes in the authority: parsers
// differ on where such a host begins.
func checkAbsolute(target []byte) *Error {
	scheme, rest, ok := bytes.Cut(target, []byte("://"))
	if !ok || !isToken(scheme) {
		return reject(http.StatusBadRequest, "malformed target")
	}
	authority := rest
	if i := bytes.IndexAny(rest, "/?"); i >= 0 {
		authority = rest[:i]
	}
	if len(authority) == 0 || !isAuthority(authority) {
		return reject(http.StatusBadRequest, "malformed authority")
	}
	return nil
}

// checkConnectTarget accepts exactly host:port with a decimal port from 1 to
// 65535 and brackets around IPv6 (RFC 9110 §9.3.6).
func checkConnectTarget(target []byte) *Error {
	bad := reject(http.StatusBadRequest, "malformed CONNECT authority")
	colon := bytes.LastIndexByte(target, ':')
	if colon < 1 {
		return bad
	}
	host, port := target[:colon], target[colon+1:]
	if !isAuthority(host) {
		return bad
	}
	bracketed := host[0] == '[' && host[len(host)-1] == ']'
	if bytes.IndexByte(host, ':') >= 0 != bracketed {
		return bad
	}
	if !bracketed && bytes.ContainsAny(host, "[]") {
		return bad
	}
	if len(port) == 0 || len(port) > 5 || port[0] == '0' || port[0] == '+' || port[0] == '-' {
		return bad
	}
	n, err := strconv.ParseUint(string(port), 10, 16)
	if err != nil || n == 0 {
		return bad
	}
	return nil
}

// checkHostField refuses a Host value that can't be an authority; whether it is
// the right one is for the caller of the package to say.
func checkHostField(value []byte) *Error {
	if !isAuthority(value) {
		return reject(http.StatusBadRequest, "malformed Host")
	}
	return nil
}

// isAuthority reports whether b holds only bytes of a host and port. It leaves
// out '@' (userinfo), '%' (zones and encodings), '/', '\' and all else on
// which parsers differ. Names beyond ASCII must come as A-labels.
func isAuthority(b []byte) bool {
	for _, c := range b {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '.', c == '-', c == '_', c == ':', c == '[', c == ']':
		default:
			return false
		}
	}
	return true
}

package inject

import (
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// unbindable headers route or frame a request, or are reflected by servers
// and proxies where the sandbox or others could read them (decision 22).
var unbindable = map[string]bool{
	"Host": true, "Content-Length": true, "Transfer-Encoding": true,
	"Connection": true, "Keep-Alive": true, "Te": true, "Trailer": true,
	"Upgrade": true, "Http2-Settings": true, "Expect": true,
	"Max-Forwards": true, "Via": true, "Forwarded": true, "X-Real-Ip": true,
	"User-Agent": true, "Referer": true, "Origin": true,
	"Traceparent": true, "Tracestate": true, "Baggage": true,
	// They shape what the edge must still be able to read or to refuse.
	"Content-Type": true, "Content-Encoding": true, "Accept-Encoding": true,
	"Alt-Used": true,
	// Echoed by definition: CORS answers with what it was asked for.
	"Access-Control-Request-Headers": true, "Access-Control-Request-Method": true,
}

// unbindablePrefixes extend unbindable to families.
var unbindablePrefixes = []string{"Proxy-", "X-Forwarded-", "Sec-", "X-B3-"}

// bindableHeader returns the canonical form of a header name that a secret
// may be put into; empty means Authorization.
func bindableHeader(name string, allowCookie bool) (string, *BindingError) {
	if name == "" {
		return defaultHeader, nil
	}
	if !httpguts.ValidHeaderFieldName(name) || len(name) > 256 {
		return "", &BindingError{"header", "not a header name"}
	}
	name = http.CanonicalHeaderKey(name)
	refused := unbindable[name]
	for _, prefix := range unbindablePrefixes {
		refused = refused || strings.HasPrefix(name, prefix)
	}
	switch {
	case refused:
		return "", &BindingError{"header", name + " frames, routes or is reflected: it can't carry a secret"}
	case name == "Cookie" && !allowCookie:
		return "", &BindingError{"header", "Cookie is bound only with allow_cookie"}
	case name == "Set-Cookie":
		return "", &BindingError{"header", "Set-Cookie belongs to responses"}
	}
	return name, nil
}

// canonicalizeKeys moves the values of header keys in another spelling below
// the canonical one. Go's servers do this already; a header that reaches us by
// another way must not hide from its binding by its spelling.
func canonicalizeKeys(h http.Header) {
	for key, values := range h {
		if canonical := http.CanonicalHeaderKey(key); canonical != key {
			delete(h, key)
			h[canonical] = append(h[canonical], values...)
		}
	}
}

// isAlias reports whether key is another spelling of name, a canonical header,
// to servers that hand headers on as variables: they turn hyphens into
// underscores (RFC 3875 §4.1.18).
func isAlias(key, name string) bool {
	if len(key) != len(name) || key == name {
		return false
	}
	for i := range len(key) {
		a, b := key[i], name[i]
		if a == '_' {
			a = '-'
		}
		if b == '_' {
			b = '-'
		}
		if a != b && (a|0x20 != b|0x20 || a|0x20 < 'a' || a|0x20 > 'z') {
			return false
		}
	}
	return true
}

// occurrences counts the values of a header under all its spellings.
func occurrences(h http.Header, name string) int {
	n := len(h[name])
	for key, values := range h {
		if isAlias(key, name) {
			n += len(values)
		}
	}
	return n
}

func removeAliases(h http.Header, name string) {
	for key := range h {
		if isAlias(key, name) {
			delete(h, key)
		}
	}
}

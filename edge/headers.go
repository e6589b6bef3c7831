package edge

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/sallyport/sallyport/inject"
)

// hopByHop are fields that concern one connection only (RFC 9110 §7.6.1).
// Proxy-* fields go as a whole, by prefix.
var hopByHop = []string{
	"Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings",
}

// outgoing returns the request to send upstream: the client's, with everything
// that only concerned the way to us taken off and its destination set from the
// agreed authority. Nothing that the client nominates in Connection survives,
// so that it can't name a header that is injected later.
func outgoing(ctx context.Context, r *http.Request, c *crossing) *http.Request {
	h := r.Header.Clone()
	c.upgrade = wantsWebSocket(r)
	trailers := hasToken(h["Te"], "trailers")
	removeHopByHop(h)
	removeProxyFields(h)
	delete(h, "Host")
	if trailers {
		h.Set("Te", "trailers") // gRPC requires it
	}
	if _, ok := h["User-Agent"]; !ok {
		h["User-Agent"] = nil // keeps net/http from adding its own
	}
	scheme := c.flow.scheme
	out := &http.Request{
		Method: r.Method,
		URL: &url.URL{
			Scheme: scheme, Host: hostPort(c.host, c.port),
			Path: r.URL.Path, RawPath: r.URL.RawPath,
			RawQuery: r.URL.RawQuery, ForceQuery: r.URL.ForceQuery,
		},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        h,
		Host:          hostField(scheme, c.host, c.port),
		Body:          c.countedBody(r),
		ContentLength: r.ContentLength,
		Trailer:       safeTrailer(r.Trailer, c.boundary.Bindings),
	}
	return out.WithContext(ctx)
}

// restoreUpgrade asks the upstream for a WebSocket if the client did. It comes
// after injection, which must see none of the fields that this sets.
func restoreUpgrade(out *http.Request, c *crossing) {
	if c.upgrade {
		out.Header.Set("Connection", "Upgrade")
		out.Header.Set("Upgrade", "websocket")
	}
}

// wantsWebSocket reports whether r is a WebSocket handshake (RFC 6455 §4.1).
// Any other upgrade is dropped with the rest of the hop-by-hop fields.
func wantsWebSocket(r *http.Request) bool {
	return r.ProtoMajor == 1 && r.ProtoMinor == 1 && r.Method == http.MethodGet &&
		r.ContentLength == 0 && len(r.Header["Upgrade"]) == 1 &&
		strings.EqualFold(r.Header["Upgrade"][0], "websocket") &&
		hasToken(r.Header["Connection"], "upgrade")
}

// connectionBound reports whether a request authenticates the connection it
// travels on, as NTLM and Negotiate do (RFC 4559 §6). Such a connection must
// not be kept: the next request on it may not be meant to have that identity.
// The credentials may have been injected, so it is asked last.
func connectionBound(h http.Header) bool {
	for _, v := range h["Authorization"] {
		scheme, _, _ := strings.Cut(v, " ")
		if strings.EqualFold(scheme, "negotiate") || strings.EqualFold(scheme, "ntlm") {
			return true
		}
	}
	return false
}

// safeTrailer drops what may not stand in a trailer (RFC 9110 §6.5.1), and
// every header that a secret is bound to: an origin that merges trailers would
// take the client's value beside the injected one. The map is filled while the
// body is read, and only with the names that are in it, so the result has to
// share it.
func safeTrailer(t http.Header, bindings *inject.Set) http.Header {
	for name := range t {
		plain := http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
		switch plain {
		case "Authorization", "Cookie", "Host", "Te", "Connection", "Upgrade", "Content-Encoding",
			"Content-Type", "Content-Range", "Expect":
			delete(t, name)
		default:
			if isProxyField(plain) || bindings.BindsHeader(name) {
				delete(t, name)
			}
		}
	}
	return t
}

// cleanResponse takes off what only concerned the way from the upstream to us,
// and Alt-Svc, which would lead clients to ports and protocols that the
// sandbox doesn't have (decision 14).
func cleanResponse(h http.Header) {
	removeHopByHop(h)
	delete(h, "Alt-Svc")
	delete(h, "Proxy-Connection")
	delete(h, "Proxy-Authenticate")
	delete(h, "Proxy-Authentication-Info")
}

func removeHopByHop(h http.Header) {
	for _, list := range h["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		delete(h, name)
	}
}

func removeProxyFields(h http.Header) {
	for name := range h {
		if isProxyField(name) {
			delete(h, name)
		}
	}
}

func isProxyField(name string) bool {
	const prefix = "Proxy-"
	return len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
}

// hasToken reports whether a list field holds a token, in any ASCII case.
func hasToken(values []string, token string) bool {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}

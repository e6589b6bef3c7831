// Package wire speaks HTTP/1 with clients and origins that may be hostile.
//
// [Server.ServeConn] runs one connection: it reads each request head within
// bounds, refuses every head that two parsers could read differently, hands
// what is left to [net/http.ReadRequest], and calls an [net/http.Handler] with
// a response writer that can flush, hijack and send trailers. Bodies stream in
// both directions. The same loop stands in front of the explicit proxy and
// inside intercepted tunnels.
//
// [Origins] is the other side: it sends ordinary requests over kept connections
// and refuses heads of responses by the same rules.
//
// It knows nothing of policies, names or certificates: package edge, its only
// caller, supplies the handler, the shape of refusals and the way to dial.
//
// net/http's own server can't be used here. It accepts Content-Length together
// with Transfer-Encoding and hides the former, unfolds obs-fold, takes an
// absolute-form target over the Host field, and offers no look at the raw head
// (all seen with Go 1.26).
//
// Security promise: a request reaches the handler only if its length, target
// and fields have a single reading (RFC 9112 §2.2, §5, §6, §7.1, §11.2);
// otherwise it is rejected and the connection closes.
package wire

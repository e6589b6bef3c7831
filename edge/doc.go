// Package edge stands on the boundary of every sandbox.
//
// Two fronts bring flows in: the explicit proxy (goproxy: CONNECT and
// absolute-form requests) and transparent interception (whatever a sandbox
// sends without knowing of a proxy, its DNS included). Both end in one [Gate],
// which every request of every protocol passes: names agree, the policy allows,
// secrets are injected; only then is the guarded dial made. Each crossing
// leaves one audit record.
//
//	front (explicit, transparent) → tunnel (TLS terminated, HTTP/1.1 or HTTP/2)
//	      → Gate → upstream (guarded dial, verified TLS) → back
//
// Call [New], then one Serve method for each listener of each boundary; they
// block until their context is done.
//
// A newcomer finds a front in proxy.go and transparent.go, what comes through
// it in tunnel.go, intercept.go, http2.go and opaque.go, the way of one request
// in exchange.go, the decision in gate.go, and everything that leaves in
// upstream.go and roundtrip.go. ENGINE.md tells how these work together. A new
// protocol is one more file that ends in the gate.
//
// Subpackages hold what stands by itself: wire (HTTP/1 with hostile clients),
// boundary (the value and its table), control (the socket over which boundaries
// open and close), guard (which addresses may be dialled), names (DNS with
// synthetic addresses), refusal (what a refused sandbox sees), audit, config.
//
// Security promise: no boundary, no crossing; every doubt denies.
package edge

// Package edge stands on the boundary of every sandbox.
//
// Two fronts bring flows in: the explicit proxy (goproxy: CONNECT and
// absolute-form requests) and transparent interception (whatever a sandbox
// sends without knowing of a proxy). Both end in one [Gate], which every
// request of every protocol passes: names agree, the policy allows, limits
// hold, secrets are injected; only then is the guarded dial made. Each crossing
// leaves one audit record.
//
//	front (explicit, transparent) → tunnel (TLS terminated, HTTP/1.1 or HTTP/2)
//	      → Gate → upstream (guarded dial, verified TLS) → back
//
// Subpackages hold what stands by itself: boundary (the value and its table),
// control (the socket over which boundaries open and close), guard (which
// addresses may be dialled), names (DNS with synthetic addresses), refusal
// (what a refused sandbox sees), audit, config.
//
// Security promise: no boundary, no crossing; every doubt denies.
package edge

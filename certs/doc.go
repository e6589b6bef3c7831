// Package certs is the private certificate authority of one Sallyport
// installation, and the trust that clients inside a sandbox need for it.
//
// [Open] creates or loads an [Authority]; [Authority.Leaf] returns a
// certificate for one canonical host from a bounded cache; [Trust] describes
// the files and environment variables that make the runtimes in a sandbox
// accept those leaves. The package knows nothing of proxies or policies.
//
// Security promise: the CA key is written with mode 0600 and is never returned
// by any exported method.
package certs

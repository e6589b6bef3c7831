// Package harness is the world around a sandbox, for the tests and the demo of
// package integration: an HTTPS origin and a git server with a certificate
// authority of their own, the product's binaries, and its audit records.
//
// Everything listens on loopback; the product is told where with the flags that
// an operator has for split DNS. It knows the product from outside only.
package harness

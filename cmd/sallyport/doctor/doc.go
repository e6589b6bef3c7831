// Package doctor proves that the runtimes of a sandbox get through an edge:
// that each finds its way there, with the proxy variables and without, and
// trusts the edge's certificate authority.
//
// [Probes] are small commands, one for each runtime; [Origin] is the HTTPS
// server that all of them ask; [Judge] says from what a probe printed and what
// the edge recorded whether it works, and if not, which variable or store to
// mend. Package main runs them in a sandbox. No probe reaches any host but the
// origin.
package doctor

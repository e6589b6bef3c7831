// Package setup runs setup scripts: fresh compute, the script, checks, a
// captured image, and a record of all of it that an author can act on.
//
// A Run goes through its phases once and never changes after it has ended. The
// script's lines are attributed to its output by markers; the log is redacted
// before it is stored. The package starts compute through package provider and
// knows nothing of HTTP.
package setup

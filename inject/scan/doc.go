// Package scan finds and replaces fixed texts, such as the renderings of a
// secret, in streams. Package inject uses it on what leaves a sandbox, package
// scrub on what comes back.
//
// A [Finder] holds the texts. It looks at two bytes of a window as long as the
// shortest text and skips as far as no text could begin (Wu and Manber, "A fast
// algorithm for multi-pattern searching", 1994): for a few dozen secrets that
// reads a fraction of the bytes. The Aho-Corasick packages for Go read each
// byte through a table and search whole texts only: none says what must be held
// back at the end of a piece, and that is most of the work here.
//
// Promise: how a stream is cut into pieces changes neither what is found nor
// what comes out.
package scan

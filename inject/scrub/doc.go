// Package scrub takes secrets out of what an origin answers: every rendering in
// headers, trailers and bodies becomes the placeholder, while the answer
// streams (decision 23). The edge calls [Prepare] on a request into which a
// secret was written and [Response] on the response to it.
//
// Text gets the placeholder as it is, so its length may change and
// Content-Length goes. What isn't text, and a part of a document, gets
// stand-ins of equal length. gRPC is left alone: it has no text, and a byte
// that is held back could make both ends wait for each other.
//
// Promise: no rendering that package scan knows leaves Response, however the
// origin cuts or compresses its answer, and no other byte of the content
// changes. A coding that can't be undone is an error.
package scrub

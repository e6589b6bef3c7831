package inject

import (
	"context"
	"net/http"

	"github.com/sallyport/sallyport/inject/scan"
	"github.com/sallyport/sallyport/inject/scrub"
)

// Injection names what Apply wrote, what is left to do with the request, and
// what becomes of the answer.
type Injection struct {
	Injected []Injected
	// Certificate is what the connection of the request has to show; nil for
	// none.
	Certificate *Certificate

	bearer   *scan.Replacer // nil unless a secret was written into the request
	signed   *scan.Replacer // nil unless something secret went with a signature
	signings []signing
	tokens   []*written
	charges  []charge
	watch    *watch
}

// Injected is one use of a secret: in a rewritten header, or as Kind says.
type Injected struct {
	Env     string `json:"env"`
	Secret  string `json:"secret"`
	Kind    Kind   `json:"kind,omitempty"` // empty means KindSecret
	Header  string `json:"header,omitempty"`
	Version string `json:"version,omitempty"`
}

// Finds returns what was found in the request and let through, and so far in
// its body, refused or not. Names only: safe to log (SI-18).
func (i Injection) Finds() []Find { return i.watch.all() }

// Refused returns the *[MisuseError] for which the body was broken off, or nil.
func (i Injection) Refused() error { return i.watch.refusal() }

// Messages returns a function that looks through the messages of a connection
// that the request opens, a piece at a time, and returns a *[MisuseError] before
// a piece that may not leave; nil if there is nothing to look for. It is not
// safe for concurrent use.
func (i Injection) Messages() func(piece []byte) error {
	if i.watch == nil || !i.watch.set.watches() {
		return nil
	}
	text := newWatchedText(i.watch, "message")
	return func(piece []byte) error {
		_, err := text.pass(piece, true)
		return err
	}
}

// Scrubber returns what replaces the boundary's secrets by their placeholders
// in a response of the given status; nil if it can hold none. Where the secret
// only signed, only errors quote what went with the signature, and everything
// else passes byte for byte.
func (i Injection) Scrubber(status int) *scan.Replacer {
	if i.bearer == nil && status >= http.StatusBadRequest {
		return i.signed
	}
	return i.bearer
}

// Prepare makes the request ask for nothing that couldn't be scrubbed. Call it
// before Finish.
func (i Injection) Prepare(h http.Header) {
	switch {
	case i.bearer != nil:
		scrub.Prepare(h)
	case i.signed != nil:
		scrub.PrepareCodings(h)
	}
}

// signing is a signature that is made once nothing of the request changes any
// more.
type signing struct {
	by Signer
	of Signing
}

// Finish signs r, of which all else is final. An error is a *[RequestError], a
// *[TooLargeError], what reading the body came to, or one of package secret;
// r must not be sent then.
func (i Injection) Finish(ctx context.Context, r *http.Request) error {
	for _, s := range i.signings {
		if err := s.by.Sign(ctx, r, s.of); err != nil {
			return err
		}
	}
	return nil
}

package inject

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/inject/scan"
	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

// Destination is where a request goes: the agreed authority of its tunnel.
type Destination struct {
	Scheme string // "https" or "http"
	Host   policy.Host
	Port   uint16
}

// Injection names what Apply wrote, and what becomes of the answer.
type Injection struct {
	Injected []Injected
	// Scrubber replaces the boundary's secrets by their placeholders in the
	// response; nil if nothing was injected.
	Scrubber *scan.Replacer

	watch *watch
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

// Injected is one rewritten header.
type Injected struct {
	Env     string `json:"env"`
	Secret  string `json:"secret"`
	Header  string `json:"header"`
	Version string `json:"version,omitempty"`
}

// Apply rewrites the headers of r for dest, whose upstream the caller will
// verify, and sets a watch over its body. It returns what it injected, or an
// error for which r must not be sent and is as it was: a *[MisuseError] for a
// placeholder in the wrong place or a secret, a *[RequestError] for a request
// that can't be rewritten without guessing, else one of the errors of package
// secret.
//
// Nothing in the body is rewritten. What may not leave ends it with an error,
// which [Injection.Refused] then returns too.
func (s *Set) Apply(ctx context.Context, r *http.Request, dest Destination, from *Resolver) (Injection, error) {
	if s == nil || !s.watches() {
		return Injection{}, nil // nothing is bound, and nobody has a placeholder
	}
	s.learn(ctx, from)
	bindings, err := s.bindingsOf(dest, r)
	if err != nil {
		return Injection{}, err
	}
	if len(bindings) > 0 {
		canonicalizeKeys(r.Header)
	}
	w := &watch{set: s}
	if err := s.checkPlaces(r, bindings, w.note); err != nil {
		return Injection{}, err
	}
	written := Injection{watch: w}
	if len(bindings) > 0 {
		if err := s.applyBindings(ctx, r, bindings, from, &written); err != nil {
			return Injection{}, err
		}
	}
	w.over(r)
	return written, nil
}

// applyBindings writes those of bindings that r needs.
func (s *Set) applyBindings(ctx context.Context, r *http.Request, bindings []*bound, from *Resolver, written *Injection) error {
	if echoes(r.Method) {
		return &RequestError{bindings[0].header, "would be sent back by the method of the request"}
	}
	if err := checkSingular(r.Header, bindings); err != nil {
		return err
	}
	return s.inject(secret.Within(ctx, s.scope), r, bindings, from, written)
}

// bindingsOf returns the bindings of a destination that mean r: none but over
// TLS. Where one goes by the path, the path has to be plain.
func (s *Set) bindingsOf(dest Destination, r *http.Request) ([]*bound, error) {
	if dest.Scheme != "https" || dest.Host.IsZero() || dest.Host.IP().IsValid() {
		return nil, nil
	}
	all := s.at[endpoint{dest.Host, dest.Port}]
	if !slices.ContainsFunc(all, func(b *bound) bool { return b.match != nil }) {
		return all, nil
	}
	path, plain := plainPath(r.URL.EscapedPath())
	var meant []*bound
	for _, b := range all {
		if b.match.hasPath() && !plain {
			return nil, &RequestError{"", "the path can be read in more than one way, and a secret is bound by path"}
		}
		if b.match.matches(r, path) {
			meant = append(meant, b)
		}
	}
	return meant, nil
}

// echoes reports whether a server answers a method with the request's own
// headers. Case counts in methods, but not to every server.
func echoes(method string) bool {
	return strings.EqualFold(method, http.MethodTrace) || strings.EqualFold(method, "TRACK")
}

// checkSingular refuses a bound header, and Authorization on any bound host,
// that is there more than once, be it by another spelling: which one the origin
// heeds is anyone's guess.
// What ModeSet overwrites may be there as often as it likes.
func checkSingular(h http.Header, bindings []*bound) error {
	authorization := len(h[defaultHeader]) > 1
	for _, b := range bindings {
		switch {
		case b.mode == ModeSet && b.header == defaultHeader:
			authorization = false
		case b.mode != ModeSet && occurrences(h, b.header) > 1:
			return &RequestError{b.header, "sent more than once to a host that a secret is bound to"}
		}
	}
	if authorization {
		return &RequestError{defaultHeader, "sent more than once to a host that a secret is bound to"}
	}
	return nil
}

// inject reads every secret that r needs before it writes the first, so that
// an error leaves r alone.
func (s *Set) inject(ctx context.Context, r *http.Request, bindings []*bound, from *Resolver, written *Injection) error {
	var values []string // beside written.Injected
	var injected []Injected
	for _, b := range bindings {
		sent := r.Header[b.header]
		if !b.needs(sent) {
			continue
		}
		found, err := from.Read(ctx, b.ref)
		if err != nil {
			return err
		}
		value, err := b.rewrite(first(sent), found.Value)
		if err != nil {
			return err
		}
		values = append(values, value)
		injected = append(injected, Injected{
			Env: b.env, Secret: b.ref.String(), Header: b.header, Version: found.Version,
		})
		written.Scrubber = s.know(b, found.Value.Reveal()).responses
	}
	if len(values) > 0 && r.Header == nil {
		r.Header = make(http.Header)
	}
	for i, w := range injected {
		removeAliases(r.Header, w.Header)
		r.Header[w.Header] = []string{values[i]}
	}
	written.Injected = injected
	return nil
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

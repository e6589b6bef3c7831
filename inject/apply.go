package inject

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/inject/secret"
	"github.com/sallyport/sallyport/policy"
)

// Destination is where a request goes: the agreed authority of its tunnel.
type Destination struct {
	Scheme string // "https" or "http"
	Host   policy.Host
	Port   uint16
}

// Apply rewrites the headers of r for dest, whose upstream the caller will
// verify, and sets a watch over its body. It returns what it injected, or an
// error for which r must not be sent and is as it was: a *[MisuseError] for a
// placeholder in the wrong place or a secret, a *[RequestError] for a request
// that can't be rewritten without guessing, else one of the errors of package
// secret.
//
// Signatures are made by [Injection.Finish], which the caller calls last.
// Nothing in the body is rewritten but the signatures in it. What may not leave
// ends it with an error, which [Injection.Refused] then returns too.
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
	injection := Injection{watch: w}
	if len(bindings) > 0 {
		if err := s.applyBindings(ctx, r, bindings, from, &injection); err != nil {
			return Injection{}, err
		}
	}
	w.over(r)
	return injection, nil
}

// applyBindings writes those of bindings that r needs.
func (s *Set) applyBindings(ctx context.Context, r *http.Request, bindings []*bound, from *Resolver, into *Injection) error {
	if echoes(r.Method) {
		return &RequestError{bindings[0].header, "would be sent back by the method of the request"}
	}
	if err := checkSingular(r.Header, bindings); err != nil {
		return err
	}
	return s.inject(secret.Within(ctx, s.scope), r, bindings, from, into)
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

// written is a header that gets a credential.
type written struct {
	b     *bound
	was   []string // what the client sent
	found sent
	value string // what is sent; empty until it is known
	used  secret.Value
}

// inject reads every secret that r needs before it writes the first, so that
// an error leaves r alone.
func (s *Set) inject(ctx context.Context, r *http.Request, bindings []*bound, from *Resolver, into *Injection) error {
	var headers []*written
	for _, b := range bindings {
		found := b.needs(r)
		if found == nothing {
			continue
		}
		if err := s.spend(b, r.Method, into); err != nil {
			return err
		}
		var err error
		switch {
		case b.kind.signs():
			err = s.sign(ctx, b, from, into)
		case b.kind == KindCertificate:
			err = s.show(ctx, b, from, into)
		default:
			w := &written{b: b, was: r.Header[b.header], found: found}
			headers = append(headers, w)
			err = s.fill(ctx, w, from, into)
		}
		if err != nil {
			return err
		}
	}
	if len(headers) > 0 && r.Header == nil {
		r.Header = make(http.Header)
	}
	for _, w := range headers {
		w.write(r.Header)
		if w.b.kind.exchanges() {
			into.tokens = append(into.tokens, w)
		}
	}
	return nil
}

// fill finds out what w writes.
func (s *Set) fill(ctx context.Context, w *written, from *Resolver, into *Injection) error {
	credential, err := s.credential(ctx, w.b, from)
	if err != nil {
		return err
	}
	w.used = credential.Value
	if w.value, err = w.b.rewrite(first(w.was), w.found, credential.Value); err != nil {
		return err
	}
	into.note(w.b, credential.Version)
	into.bearer = s.values.now.Load().responses
	return nil
}

func (w *written) write(h http.Header) {
	removeAliases(h, w.b.header)
	h[w.b.header] = []string{w.value}
}

// credential is what b writes: its secret, or what is had for it.
func (s *Set) credential(ctx context.Context, b *bound, from *Resolver) (secret.Secret, error) {
	found, err := s.read(ctx, b.secret, from)
	if err != nil || !b.kind.exchanges() {
		return found, err
	}
	return s.exchange(ctx, b, found, from)
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

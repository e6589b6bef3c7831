package inject

import (
	"context"
	"net/http"
	"strings"

	"github.com/sallyport/sallyport/policy"
)

// Destination is where a request goes: the agreed authority of its tunnel.
type Destination struct {
	Scheme string // "https" or "http"
	Host   policy.Host
	Port   uint16
}

// Injection names what Apply wrote, never the values: safe to log (SI-18).
type Injection struct {
	Injected []Injected
}

// Injected is one rewritten header.
type Injected struct {
	Env     string `json:"env"`
	Secret  string `json:"secret"`
	Header  string `json:"header"`
	Version string `json:"version,omitempty"`
}

// Apply rewrites the headers of r for dest, whose upstream the caller will
// verify. It returns what it injected, or an error for which r must not be
// sent and is as it was: a *[MisuseError] for a placeholder in the wrong
// place, a *[RequestError] for a request that can't be rewritten without
// guessing, else one of the errors of package secret.
//
// The body and the trailers are not looked at: a placeholder there stays
// inert.
func (s *Set) Apply(ctx context.Context, r *http.Request, dest Destination, from *Resolver) (Injection, error) {
	if s == nil || len(s.at) == 0 {
		return Injection{}, nil
	}
	bindings := s.bindingsOf(dest)
	if len(bindings) > 0 {
		canonicalizeKeys(r.Header)
	}
	if err := s.checkPlaces(r, bindings); err != nil {
		return Injection{}, err
	}
	if len(bindings) == 0 {
		return Injection{}, nil
	}
	if echoes(r.Method) {
		return Injection{}, &RequestError{bindings[0].header, "would be sent back by the method of the request"}
	}
	if err := checkSingular(r.Header, bindings); err != nil {
		return Injection{}, err
	}
	return inject(ctx, r, bindings, from)
}

// bindingsOf returns the bindings of a destination: none but over TLS.
func (s *Set) bindingsOf(dest Destination) []*bound {
	if dest.Scheme != "https" || dest.Host.IsZero() || dest.Host.IP().IsValid() {
		return nil
	}
	return s.at[endpoint{dest.Host, dest.Port}]
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
func inject(ctx context.Context, r *http.Request, bindings []*bound, from *Resolver) (Injection, error) {
	var written Injection
	var values []string // beside written.Injected
	for _, b := range bindings {
		sent := r.Header[b.header]
		if !b.needs(sent) {
			continue
		}
		found, err := from.Read(ctx, b.ref)
		if err != nil {
			return Injection{}, err
		}
		value, err := b.rewrite(first(sent), found.Value)
		if err != nil {
			return Injection{}, err
		}
		values = append(values, value)
		written.Injected = append(written.Injected, Injected{
			Env: b.env, Secret: b.ref.String(), Header: b.header, Version: found.Version,
		})
	}
	if len(values) > 0 && r.Header == nil {
		r.Header = make(http.Header)
	}
	for i, w := range written.Injected {
		removeAliases(r.Header, w.Header)
		r.Header[w.Header] = []string{values[i]}
	}
	return written, nil
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

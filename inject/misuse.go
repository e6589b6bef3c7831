package inject

import (
	"net/http"
	"strings"
)

// checkPlaces returns the worst that is in r and that none of bindings, those
// of its destination, permits there; other misuse of which a binding says that
// it is forwarded goes to noted.
func (s *Set) checkPlaces(r *http.Request, bindings []*bound, noted func(Find)) error {
	var w worst
	var header, permitted string
	visit := func(f Find) {
		f.Where = "url"
		if header != "" {
			f.Where = "header " + header
		}
		switch {
		case f.Kind == FoundPlaceholder && f.Env == permitted:
		case f.Kind == FoundPlaceholder && s.forwarded[f.Env]:
			noted(f)
		default:
			w.add(f)
		}
	}
	query, credentials := credentialsIn(r, bindings)
	s.inURL(r, query, visit)
	if len(credentials) == 0 {
		s.inspect(r.RequestURI, visit)
	}
	for _, credential := range credentials {
		permitted = permittedIn(defaultHeader, bindings)
		s.inspect(credential, visit)
	}
	for name, values := range r.Header {
		header, permitted = name, permittedIn(name, bindings)
		for _, value := range values {
			s.inspect(value, visit)
		}
	}
	if w.found {
		return &MisuseError{w.find}
	}
	return nil
}

// permittedIn returns the variable whose placeholder a header may hold; there
// is at most one per header of a destination.
func permittedIn(header string, bindings []*bound) string {
	for _, b := range bindings {
		if b.header == header {
			return b.env
		}
	}
	return ""
}

// inURL looks into everything that a request line can hold, with query in place
// of its own.
func (s *Set) inURL(r *http.Request, query string, visit func(Find)) {
	s.inspect(r.Host, visit)
	s.inName(r.Host, visit)
	u := r.URL
	if u == nil {
		return
	}
	if u.Host != r.Host {
		s.inspect(u.Host, visit)
		s.inName(u.Host, visit)
	}
	for _, part := range [...]string{u.Path, u.RawPath, query, u.Opaque, u.Fragment} {
		s.inspect(part, visit)
	}
	if u.User != nil {
		password, _ := u.User.Password()
		s.inspect(u.User.Username(), visit)
		s.inspect(password, visit)
	}
}

// inName looks into a host name: case doesn't count there, and a placeholder
// may be cut into labels.
func (s *Set) inName(name string, visit func(Find)) {
	judge := func(o *owner) { visit(s.judge(o)) }
	s.issued.eachFolded(name, judge)
	if strings.IndexByte(name, '.') >= 0 {
		s.issued.eachFolded(strings.ReplaceAll(name, ".", ""), judge)
	}
}

// CheckName returns a *[MisuseError] for a placeholder or a secret in a name
// that a sandbox asks DNS for, and nil otherwise.
func (s *Set) CheckName(name string) error {
	if s == nil {
		return nil
	}
	var w worst
	visit := func(f Find) {
		f.Where = "name"
		w.add(f)
	}
	s.inName(name, visit)
	s.inspect(name, visit)
	if w.found {
		return &MisuseError{w.find}
	}
	return nil
}

// CheckConnect returns a *[MisuseError] for a placeholder or a secret in a
// CONNECT request, where none is ever bound, and nil otherwise.
func (s *Set) CheckConnect(r *http.Request) error {
	if s == nil {
		return nil
	}
	return s.checkPlaces(r, nil, func(Find) {})
}

package inject

import (
	"net/http"
	"strings"
)

// MisuseError: a placeholder of this boundary was found in a request to a
// destination or in a place that it isn't bound to, or over plain HTTP.
type MisuseError struct {
	Env   string // whose placeholder
	Where string // "header X-Name", "url"
}

func (e *MisuseError) Error() string {
	return "placeholder of " + e.Env + " in " + e.Where + " of a request it is not bound to"
}

// checkPlaces returns a *MisuseError for the first placeholder in r that none
// of bindings, those of its destination, permits there.
func (s *Set) checkPlaces(r *http.Request, bindings []*bound) error {
	if env, found := s.inURL(r); found {
		return &MisuseError{Env: env, Where: "url"}
	}
	for name, values := range r.Header {
		permitted := permittedIn(name, bindings)
		for _, value := range values {
			env, found := s.other(value, permitted)
			if !found {
				if text, ok := decodeBasic(value); ok {
					env, found = s.other(text, permitted)
				}
			}
			if found {
				return &MisuseError{Env: env, Where: "header " + name}
			}
		}
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

// other returns the variable of the first placeholder in text that isn't
// permitted's.
func (s *Set) other(text, permitted string) (env string, found bool) {
	for {
		candidate, rest, ok := defaultShape.next(text)
		if !ok {
			return "", false
		}
		if env, known := s.byPlaceholder[candidate]; known && env != permitted {
			return env, true
		}
		text = rest
	}
}

// inURL looks for a placeholder in everything that a request line can hold,
// as it stands and percent-decoded.
func (s *Set) inURL(r *http.Request) (env string, found bool) {
	parts := [...]string{r.Host, r.RequestURI}
	for _, part := range parts {
		if env, found := s.inEncoded(part); found {
			return env, true
		}
	}
	u := r.URL
	if u == nil {
		return "", false
	}
	for _, part := range [...]string{u.Host, u.Path, u.RawPath, u.RawQuery, u.Opaque, u.Fragment} {
		if env, found := s.inEncoded(part); found {
			return env, true
		}
	}
	if u.User == nil {
		return "", false
	}
	if env, found := s.other(u.User.Username(), ""); found {
		return env, true
	}
	password, _ := u.User.Password()
	return s.other(password, "")
}

func (s *Set) inEncoded(text string) (env string, found bool) {
	if env, found := s.other(text, ""); found {
		return env, true
	}
	if strings.IndexByte(text, '%') < 0 {
		return "", false
	}
	return s.other(percentDecode(text), "")
}

// percentDecode decodes what is well-formed and keeps the rest, as lenient
// servers do; net/url gives up at the first error.
func percentDecode(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			high, low := unhex(text[i+1]), unhex(text[i+2])
			if high >= 0 && low >= 0 {
				b.WriteByte(byte(high<<4 | low))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	default:
		return -1
	}
}

package inject

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Match limits a binding to some of the requests to its host: all that is set
// must hold, of the methods one. Paths are compared decoded; a request whose
// path could be read in two ways is refused, because its server might read it
// the other way.
type Match struct {
	Methods    []string          `json:"methods,omitempty"`     // compared exactly; empty means all
	Path       string            `json:"path,omitempty"`        // the whole path
	PathPrefix string            `json:"path_prefix,omitempty"` // whole segments: "/v1" is before "/v1/x", not "/v1x"
	PathRegex  string            `json:"path_regex,omitempty"`  // RE2, of the whole path
	Query      map[string]string `json:"query,omitempty"`       // each exactly once, with this value
	Headers    map[string]string `json:"headers,omitempty"`     // each exactly once, with this value
}

// UnmarshalJSON decodes strictly, as Binding does.
func (m *Match) UnmarshalJSON(data []byte) error {
	*m = Match{}
	return decodeObject(data, map[string]any{
		"methods": &m.Methods, "path": &m.Path, "path_prefix": &m.PathPrefix, "path_regex": &m.PathRegex,
		"query": &m.Query, "headers": &m.Headers,
	})
}

// matcher is a checked Match.
type matcher struct {
	Match
	regex *regexp.Regexp
}

// compile checks m; nil matches everything. The path of an error is below the
// binding.
func (m *Match) compile() (*matcher, *BindingError) {
	if m == nil {
		return nil, nil
	}
	c := &matcher{Match: *m}
	for _, method := range m.Methods {
		if !httpguts.ValidHeaderFieldName(method) {
			return nil, &BindingError{"match.methods", "want HTTP methods"}
		}
	}
	for key, path := range map[string]string{"match.path": m.Path, "match.path_prefix": m.PathPrefix} {
		if path == "" {
			continue
		}
		if _, ok := plainPath((&url.URL{Path: path}).EscapedPath()); !ok {
			return nil, &BindingError{key, "want a decoded path that begins with / and has no empty or dotted segment"}
		}
	}
	if m.PathRegex != "" {
		var err error
		if c.regex, err = regexp.Compile(`^(?:` + m.PathRegex + `)$`); err != nil {
			return nil, &BindingError{"match.path_regex", "want a regular expression in RE2 syntax"}
		}
	}
	c.Headers = make(map[string]string, len(m.Headers))
	for name, value := range m.Headers {
		if !httpguts.ValidHeaderFieldName(name) {
			return nil, &BindingError{"match.headers", fmt.Sprintf("%q is not a header name", name)}
		}
		c.Headers[http.CanonicalHeaderKey(name)] = value
	}
	return c, nil
}

func (m *matcher) hasPath() bool {
	return m != nil && (m.Path != "" || m.PathPrefix != "" || m.regex != nil)
}

// matches reports whether r, whose decoded path is path, is one of those that
// are meant.
func (m *matcher) matches(r *http.Request, path string) bool {
	if m == nil {
		return true
	}
	if len(m.Methods) > 0 && !slices.Contains(m.Methods, r.Method) {
		return false
	}
	if m.Path != "" && path != m.Path || m.regex != nil && !m.regex.MatchString(path) {
		return false
	}
	if p := strings.TrimSuffix(m.PathPrefix, "/"); m.PathPrefix != "" && path != p && !strings.HasPrefix(path, p+"/") {
		return false
	}
	for name, value := range m.Headers {
		if occurrences(r.Header, name) != 1 || !slices.Equal(r.Header[name], []string{value}) {
			return false
		}
	}
	return m.matchesQuery(r.URL.RawQuery)
}

func (m *matcher) matchesQuery(raw string) bool {
	if len(m.Query) == 0 {
		return true
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return false
	}
	for name, value := range m.Query {
		if !slices.Equal(query[name], []string{value}) {
			return false
		}
	}
	return true
}

// plainPath decodes a path that can be read in one way only: no empty or
// dotted segments, no parameters, no backslashes, and nothing escaped that
// needn't be or that would then be a separator.
func plainPath(escaped string) (path string, ok bool) {
	if !strings.HasPrefix(escaped, "/") {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(escaped); {
		c, n := escaped[i], 1
		if c == '%' {
			if c, n = escapeAt(escaped[i:]); n == 1 || !mustEscape(c) {
				return "", false
			}
		} else if c <= ' ' || c >= 0x7f || c == '\\' || c == ';' {
			return "", false
		}
		b.WriteByte(c)
		i += n
	}
	path = b.String()
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		if segment == "." || segment == ".." || segment == "" && i < len(segments)-1 {
			return "", false
		}
	}
	return path, true
}

// mustEscape reports whether a byte stands in a path only as an escape, and
// means nothing to those who undo it.
func mustEscape(c byte) bool {
	switch {
	case c < ' ', c == 0x7f, c == '/', c == '\\', c == '.', c == ';', c == '%':
		return false
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '~':
		return false
	}
	return true
}

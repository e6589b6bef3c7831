package secret

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxRef bounds a reference in bytes; PATH_MAX fits.
const maxRef = 4200

// Ref names a secret: a source kind and the source's own name for it, written
// "env:VAR", "file:/path", "store:NAME" or "vault:MOUNT/PATH#FIELD". Refs are
// comparable.
type Ref struct {
	Source string
	Name   string
}

// kindSyntax is what a source kind looks like.
var kindSyntax = regexp.MustCompile(`^[a-z][a-z0-9]{0,31}$`)

// ParseRef reads the form "KIND:NAME". The name is taken as it stands; only
// its source knows more about it. Control characters and white space around
// the name are refused.
func ParseRef(s string) (Ref, error) {
	kind, name, ok := strings.Cut(s, ":")
	switch {
	case len(s) > maxRef:
		return Ref{}, fmt.Errorf("parse secret reference: longer than %d bytes", maxRef)
	case !ok || !kindSyntax.MatchString(kind):
		// Not quoted: whoever writes the value itself here, in place of a
		// reference, must not find it in a log.
		return Ref{}, errors.New(`parse secret reference: want KIND:NAME, such as "store:api-token"`)
	case name == "":
		return Ref{}, fmt.Errorf("parse secret reference: no name after %q", kind+":")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return Ref{}, fmt.Errorf("parse secret reference: control character or invalid UTF-8 in the name after %q", kind+":")
	case strings.TrimSpace(name) != name:
		return Ref{}, fmt.Errorf("parse secret reference: white space around the name after %q", kind+":")
	}
	return Ref{Source: kind, Name: name}, nil
}

// String returns the form that [ParseRef] reads. It names a secret and holds
// no value; operators may see it, sandboxes and API users may not (SI-23).
func (r Ref) String() string { return r.Source + ":" + r.Name }

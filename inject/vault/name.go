package vault

import (
	"fmt"
	"strings"

	"github.com/sallyport/sallyport/inject/secret"
)

// name is a parsed MOUNT/PATH#FIELD.
type name struct {
	path  string // MOUNT/PATH: only the server knows where the mount ends
	field string
}

// parseName reads MOUNT/PATH#FIELD. The last # counts. A path that a server or
// a proxy before it could read as another one is refused.
func parseName(s string) (name, error) {
	i := strings.LastIndexByte(s, '#')
	if i < 0 || i == len(s)-1 {
		return name{}, malformed("expected MOUNT/PATH#FIELD")
	}
	n := name{path: s[:i], field: s[i+1:]}
	segments := strings.Split(n.path, "/")
	if len(segments) < 2 {
		return name{}, malformed("expected a path below a mount, MOUNT/PATH#FIELD")
	}
	for _, segment := range segments {
		if segment == "" || segment == "." || segment == ".." {
			return name{}, malformed("empty or dotted segment in the path")
		}
	}
	if strings.ContainsAny(n.path, "?%\\") || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return name{}, malformed("character that a path can't have")
	}
	// Paths of the server's own: a read there is no read of a secret.
	switch segments[0] {
	case "sys", "auth", "identity", "cubbyhole":
		return name{}, malformed("not a mount of secrets")
	}
	return n, nil
}

func malformed(msg string) error { return fmt.Errorf("%s: %w", msg, secret.ErrNotFound) }

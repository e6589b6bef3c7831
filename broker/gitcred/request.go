package gitcred

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of what git may send. A token may be long, so lines may be.
const (
	maxInput = 64 << 10
	maxLines = 256
)

// Request is what git asks for. Protocol and Host are never empty.
type Request struct {
	Protocol string
	Host     string // as git has it: any letter case, perhaps with a port
	Path     string // empty unless credential.useHttpPath is set
	Username string
	Password string // only with store and erase
	// Capabilities are those that git announced (since 2.46).
	Capabilities []string
}

// Can reports whether git announced the capability.
func (r Request) Can(capability string) bool { return slices.Contains(r.Capabilities, capability) }

// ReadRequest reads key=value lines up to a blank line or the end. Keys that it
// doesn't know are ignored, as the protocol demands of helpers. It refuses
// control characters anywhere, a second value for a key that has one, a request
// without protocol or host, percent signs in host and path (git has decoded
// them once; what is left is meant for another parser), and input beyond 64 KiB.
// Errors quote nothing.
func ReadRequest(r io.Reader) (Request, error) {
	var req Request
	seen := map[string]bool{}
	lines := bufio.NewReaderSize(io.LimitReader(r, maxInput+1), maxInput+1)
	total := 0
	for n := 1; ; n++ {
		line, err := lines.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return Request{}, fmt.Errorf("read request: %w", err)
		}
		if total += len(line); total > maxInput || n > maxLines {
			return Request{}, errors.New("request is too long")
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			break
		}
		if problem := req.add(line, seen); problem != "" {
			return Request{}, fmt.Errorf("line %d: %s", n, problem)
		}
		if err != nil {
			break
		}
	}
	return req, req.check()
}

// add takes in one line and says what is wrong with it, or "".
func (r *Request) add(line string, seen map[string]bool) (problem string) {
	if strings.ContainsFunc(line, isControl) || !utf8.ValidString(line) {
		return "control character or invalid UTF-8"
	}
	key, value, found := strings.Cut(line, "=")
	if !found || key == "" {
		return "expected key=value"
	}
	if key == "capability[]" {
		r.Capabilities = append(r.Capabilities, value)
		if value == "" { // an empty value starts the list anew
			r.Capabilities = nil
		}
		return ""
	}
	field := map[string]*string{
		"protocol": &r.Protocol, "host": &r.Host, "path": &r.Path,
		"username": &r.Username, "password": &r.Password,
	}[key]
	if field == nil {
		return "" // wwwauth[], state[], authtype, and whatever is to come
	}
	if seen[key] {
		return key + " is given twice"
	}
	seen[key] = true
	*field = value
	return ""
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f }

func (r *Request) check() error {
	switch {
	case r.Protocol == "":
		return errors.New("protocol is missing")
	case r.Host == "":
		return errors.New("host is missing")
	case strings.ContainsFunc(r.Host, notInHost):
		return errors.New("host has a character that no host has")
	case strings.Contains(r.Path, "%"):
		return errors.New("path has a percent sign")
	}
	return nil
}

// notInHost allows what names, addresses and ports consist of. Slash, @, % and
// # are how one host is passed off as another.
func notInHost(c rune) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return false
	}
	return !strings.ContainsRune(".-_:[]", c)
}

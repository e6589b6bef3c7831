package gitwire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Limits of what comes before a pack.
const (
	maxList     = 4 << 20
	maxCommands = 10_000
)

// Command is one change that a push asks for.
type Command struct {
	Old, New string // object ids; all zeros for none
	Ref      string // a whole and well-formed name
}

// Creates reports whether the ref isn't there before.
func (c Command) Creates() bool { return strings.Trim(c.Old, "0") == "" }

// Deletes reports whether the ref isn't there afterwards.
func (c Command) Deletes() bool { return strings.Trim(c.New, "0") == "" }

// Push is what a request to git-receive-pack says before its pack
// (gitprotocol-pack(5), "Reference Update Request").
type Push struct {
	Commands     []Command
	Capabilities []string // as the client chose them
	Options      []string // push options
	SHA256       bool     // object ids are of SHA-256
	// Head are the bytes that were read: what follows them in the request is
	// the pack, if there is one.
	Head []byte
}

// HasPack reports whether a pack follows.
func (p *Push) HasPack() bool {
	return slices.ContainsFunc(p.Commands, func(c Command) bool { return !c.Deletes() })
}

// Can reports whether the client asked for a capability.
func (p *Push) Can(name string) bool { return slices.Contains(p.Capabilities, name) }

// ErrSigned says that a push is signed: its commands are in a certificate, and
// the forge heeds those.
var ErrSigned = errors.New("signed pushes can't be judged")

// ReadPush reads from the body of a request to git-receive-pack up to its pack.
// A body without commands is git's question whether it may push at all.
//
// It takes what git's own clients send and no more: capabilities on the first
// command alone, ids in lower case and of one length, refs that git would
// create.
func ReadPush(r io.Reader) (*Push, error) {
	in := &packets{r: r, limit: maxList}
	p := &Push{}
	idLength := 0
	for {
		line, is, err := in.next()
		switch {
		case err != nil:
			return nil, err
		case is == flush:
			if err := p.readOptions(in); err != nil {
				return nil, err
			}
			p.Head = in.raw
			return p, p.check()
		case isShallow(line):
			if len(p.Commands) > 0 {
				return nil, errors.New("a shallow line follows a command")
			}
			continue
		}
		if err := p.add(line, &idLength); err != nil {
			return nil, err
		}
	}
}

// add takes in one command.
func (p *Push) add(line []byte, idLength *int) error {
	text, capabilities, found := bytes.Cut(line, []byte{0})
	if len(p.Commands) == 0 {
		if string(bytes.TrimSuffix(text, []byte("\n"))) == "push-cert" {
			return ErrSigned
		}
		if bytes.IndexByte(capabilities, 0) >= 0 {
			return errors.New("a second NUL in a command")
		}
		p.Capabilities = strings.Fields(string(capabilities))
		if !found {
			text = bytes.TrimSuffix(text, []byte("\n"))
		}
	} else {
		if found {
			return errors.New("capabilities on another command than the first")
		}
		text = bytes.TrimSuffix(text, []byte("\n"))
	}
	if len(p.Commands) == maxCommands {
		return fmt.Errorf("more than %d commands", maxCommands)
	}
	parts := strings.SplitN(string(text), " ", 3)
	if len(parts) != 3 || !isID(parts[0]) || len(parts[0]) != len(parts[1]) || !isID(parts[1]) {
		return errors.New("malformed command")
	}
	if *idLength == 0 {
		*idLength = len(parts[0])
		p.SHA256 = *idLength == 64
	}
	c := Command{Old: parts[0], New: parts[1], Ref: parts[2]}
	if len(c.Old) != *idLength || !ValidRef(c.Ref) {
		return errors.New("malformed command")
	}
	if slices.ContainsFunc(p.Commands, func(other Command) bool { return other.Ref == c.Ref }) {
		return errors.New("two commands for one ref")
	}
	p.Commands = append(p.Commands, c)
	return nil
}

// readOptions reads the push options, if the client said that it sends some.
func (p *Push) readOptions(in *packets) error {
	if !p.Can("push-options") {
		return nil
	}
	for {
		line, is, err := in.next()
		if err != nil || is == flush {
			return err
		}
		if bytes.IndexByte(line, 0) >= 0 {
			return errors.New("malformed push option")
		}
		p.Options = append(p.Options, string(bytes.TrimSuffix(line, []byte("\n"))))
	}
}

// check holds the ids against the format that the client named.
func (p *Push) check() error {
	format := "sha1"
	for _, c := range p.Capabilities {
		if name, ok := strings.CutPrefix(c, "object-format="); ok {
			format = name
		}
	}
	switch {
	case format != "sha1" && format != "sha256":
		return errors.New("unknown object format")
	case len(p.Commands) > 0 && p.SHA256 != (format == "sha256"):
		return errors.New("object ids of another format than the push's")
	}
	return nil
}

// isShallow reports whether a line tells where the client's history ends.
func isShallow(line []byte) bool {
	id, found := strings.CutPrefix(strings.TrimSuffix(string(line), "\n"), "shallow ")
	return found && isID(id)
}

// isID reports whether s is an object id of either format.
func isID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool { return (c < '0' || c > '9') && (c < 'a' || c > 'f') })
}

// ValidRef reports whether git would create a ref of this name
// (git-check-ref-format(1)), below "refs/" and of printable ASCII or UTF-8.
func ValidRef(ref string) bool {
	if !strings.HasPrefix(ref, "refs/") || len(ref) > 1000 || strings.HasSuffix(ref, ".") {
		return false
	}
	if strings.Contains(ref, "..") || strings.Contains(ref, "@{") || strings.ContainsFunc(ref, notInRef) {
		return false
	}
	for part := range strings.SplitSeq(ref, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

func notInRef(c rune) bool {
	return c <= ' ' || c == 0x7f || c == '\uFFFD' || strings.ContainsRune(`~^:?*[\`, c)
}

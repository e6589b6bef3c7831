package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// A TamperError says where a chain is broken. Nothing from Sequence on can be
// trusted.
type TamperError struct {
	Sequence int64
	Reason   string
}

func (e *TamperError) Error() string {
	return fmt.Sprintf("the audit record is broken at entry %d: %s", e.Sequence, e.Reason)
}

// Verify reads a whole chain and returns its head. Each of the heads that are
// known from elsewhere must lie on the chain; the chain may go on after it,
// except after last, which is where it must end. A broken chain is a
// *TamperError; other errors are those of links.
func Verify(links iter.Seq2[Link, error], last *Head, known ...Head) (Head, error) {
	var head Head
	for link, err := range links {
		if err != nil {
			return head, err
		}
		if err := follow(head, link); err != nil {
			return head, err
		}
		head = link.Head()
		for _, k := range known {
			if k.Sequence == head.Sequence && k.Digest != head.Digest {
				return head, &TamperError{head.Sequence, "it isn't the entry that was known with that number"}
			}
		}
	}
	if last != nil {
		known = append(known[:len(known):len(known)], *last)
		if head.Sequence > last.Sequence {
			return head, &TamperError{last.Sequence + 1, "it lies behind the recorded end"}
		}
	}
	for _, k := range known {
		if k.Sequence > head.Sequence {
			return head, &TamperError{head.Sequence + 1, fmt.Sprintf("entries up to %d were removed", k.Sequence)}
		}
		if k.Sequence == head.Sequence && k.Digest != head.Digest {
			return head, &TamperError{head.Sequence, "it isn't the recorded end"}
		}
	}
	return head, nil
}

func follow(head Head, link Link) error {
	switch {
	case link.Sequence != head.Sequence+1:
		return &TamperError{head.Sequence + 1, fmt.Sprintf("entry %d follows", link.Sequence)}
	case link.Previous != head.Digest:
		return &TamperError{link.Sequence, "it doesn't continue the entry before it"}
	case link.Digest != seal(link):
		return &TamperError{link.Sequence, "its content was changed"}
	}
	return nil
}

// Export writes links as JSON, one a line.
func Export(w io.Writer, links iter.Seq2[Link, error]) error {
	for link, err := range links {
		if err != nil {
			return err
		}
		if err := writeLine(w, link); err != nil {
			return fmt.Errorf("write audit entry %d: %w", link.Sequence, err)
		}
	}
	return nil
}

// writeLine doesn't leave the body to a JSON encoder, which would escape it
// anew and so break its seal.
func writeLine(w io.Writer, l Link) error {
	_, err := fmt.Fprintf(w, `{"sequence":%d,"previous":"%s","digest":"%s","entry":%s}`+"\n", l.Sequence, l.Previous, l.Digest, l.Body)
	return err
}

// maxLine bounds a line of an export; an entry holds at most two policies.
const maxLine = 8 << 20

// Read returns the links that Export wrote.
func Read(r io.Reader) iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLine)
		for n := 1; lines.Scan(); n++ {
			var link Link
			decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
			decoder.DisallowUnknownFields()
			err := decoder.Decode(&link)
			if err == nil && decoder.More() {
				err = errors.New("text after the entry")
			}
			if err != nil {
				yield(Link{}, fmt.Errorf("read line %d of the audit record: %w", n, err))
				return
			}
			if !yield(link, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Link{}, fmt.Errorf("read the audit record: %w", err))
		}
	}
}

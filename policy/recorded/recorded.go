// Package recorded reads what the edge's audit log says about decisions.
//
// [Scan] takes from each line the few fields that a policy is about, without
// decoding the rest: a day's log is read at the speed of the disk. The package
// knows the format by its field names alone, as every reader of the log does;
// it opens no files.
package recorded

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/sallyport/sallyport/policy"
)

// Verdicts of crossings, as the log spells them. An observed crossing is one
// that the policy denies and that was let through to be seen.
const (
	VerdictAllow   = "allow"
	VerdictDeny    = "deny"
	VerdictObserve = "observe"
)

// Crossing is what a line says. Its slices are valid until the next one.
type Crossing struct {
	Boundary []byte
	Host     []byte // canonical, or whatever was asked for if it is malformed
	Verdict  []byte
	Reason   []byte
}

// Policy says what the policy in force at the time decided. Known is false for
// crossings that were refused for another reason, so that the policy's word
// isn't recorded.
func (c *Crossing) Policy() (action policy.Action, known bool) {
	switch {
	case string(c.Verdict) == VerdictAllow:
		return policy.Allow, true
	case string(c.Verdict) == VerdictObserve:
		return policy.Deny, true
	case string(c.Verdict) == VerdictDeny && string(c.Reason) == string(policy.ReasonDenied):
		return policy.Deny, true
	}
	return policy.Deny, false
}

// Counts say how much was read.
type Counts struct {
	Bytes     int64
	Lines     int64
	Malformed int64 // lines that are no record, left out
}

// maxLine is far above the longest record that the edge writes.
const maxLine = 1 << 20

// Scan calls f with each crossing of a log, JSON lines. Lines that are no
// record are counted and left out: a log that is being written ends in the
// middle of one. The error is that of the reader.
func Scan(in io.Reader, f func(*Crossing)) (Counts, error) {
	var counts Counts
	var c Crossing
	r := bufio.NewReaderSize(in, maxLine)
	for {
		line, err := r.ReadSlice('\n')
		counts.Bytes += int64(len(line))
		if errors.Is(err, bufio.ErrBufferFull) {
			counts.Lines++
			counts.Malformed++
			n, err := discardLine(r)
			counts.Bytes += n
			if err != nil {
				return counts, end(err)
			}
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			counts.Lines++
			if parse(line, &c) {
				f(&c)
			} else {
				counts.Malformed++
			}
		}
		if err != nil {
			return counts, end(err)
		}
	}
}

func end(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("read audit log: %w", err)
}

// discardLine reads up to the end of a line that is too long.
func discardLine(r *bufio.Reader) (n int64, err error) {
	for {
		part, err := r.ReadSlice('\n')
		n += int64(len(part))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return n, err
		}
	}
}

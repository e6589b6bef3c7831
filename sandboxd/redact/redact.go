// Package redact takes credentials out of what a sandbox says before anybody
// stores or shows it: values that are known, and everything that has the shape
// of a token, a private key, an authorisation header or a URL with a password
// (ledger LO-2). What is taken out becomes [redacted].
//
// New makes a Redactor, Text redacts a whole text, and Stream one that arrives
// in pieces.
//
// Promise: how a stream is cut into pieces changes nothing of what comes out,
// and what comes out has no shape of a credential. A secret that has no known
// shape and isn't known as a value can't be recognised.
package redact

import (
	"bytes"
	"slices"

	"github.com/sallyport/sallyport/inject/scan"
)

// Mark is what stands for what was taken out.
const Mark = "[redacted]"

// Known is the kind of what was given to New.
const Known = "known"

// Redactor redacts texts. It is immutable and safe for concurrent use.
type Redactor struct {
	known *scan.Replacer
}

// New returns a Redactor that takes out values, in every way in which software
// writes them, besides all shapes. A value of fewer than scan.MinSecret bytes is
// no secret: anyone could guess it.
func New(values ...string) *Redactor {
	var all []scan.Rendering
	for _, v := range values {
		for _, r := range scan.Renderings([]byte(v), nil) {
			all = append(all, scan.Rendering{Text: r.Text, Stand: []byte(Mark)})
		}
	}
	return &Redactor{known: scan.NewReplacer(all)}
}

// Text redacts a whole text.
func (r *Redactor) Text(text string) string {
	s := r.Stream()
	return string(s.Close(s.Append(nil, []byte(text))))
}

// Find is a credential in a line.
type Find struct {
	Kind string
	Text []byte // of the line; with what tells the kind, such as a header's name
}

// Find returns the credentials in a line, which has no newline.
func (r *Redactor) Find(line []byte) []Find {
	var all []Find
	if m, found := r.known.Finder().Find(line, 0); found {
		all = append(all, Find{Known, line[m.Start:m.End]})
	}
	candidates, _ := suspect(line, nil)
	for i, s := range shapes {
		if candidates&(1<<i) == 0 {
			continue
		}
		for _, text := range s.pattern.FindAll(line, -1) {
			all = append(all, Find{s.kind, text})
		}
	}
	return all
}

// redactLine appends to dst a line, or a part of one that is too long, without
// the shapes of credentials. cut says where in line the part may end: what
// begins behind it isn't looked at. It returns how much of line was used, and
// whether a credential reaches beyond the end of line.
func redactLine(dst, line []byte, candidates uint32, cut int) (_ []byte, used int, open bool) {
	from := 0
	for _, m := range matches(line, candidates) {
		if m.begin >= cut {
			break
		}
		if m.end <= from {
			continue
		}
		if m.start > from {
			dst = append(dst, line[from:m.start]...)
		}
		dst = append(dst, Mark...)
		from = m.end
		open = m.end == len(line)
	}
	if from < cut {
		dst = append(dst, line[from:cut]...)
		from = cut
	}
	return dst, from, open
}

// span is what is to be taken out of a line. begin is where what tells so
// begins, such as the name of a header.
type span struct{ begin, start, end int }

// matches returns what is to be taken out of a line, in order, none inside
// another.
func matches(line []byte, candidates uint32) []span {
	var all []span
	for i, s := range shapes {
		if candidates&(1<<i) == 0 {
			continue
		}
		for _, m := range s.pattern.FindAllSubmatchIndex(line, -1) {
			// The last group is the secret; without one all of it is.
			at := span{m[0], m[len(m)-2], m[len(m)-1]}
			if at.start < at.end {
				all = append(all, at)
			}
		}
	}
	slices.SortFunc(all, func(a, b span) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	return merge(all)
}

// merge joins spans that overlap.
func merge(all []span) []span {
	var merged []span
	for _, s := range all {
		if n := len(merged); n > 0 && s.start < merged[n-1].end {
			merged[n-1].end = max(merged[n-1].end, s.end)
			merged[n-1].begin = min(merged[n-1].begin, s.begin)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// suspect returns the shapes that a line may have, one bit each. That is many
// times faster than looking for them. scratch may be used again as returned.
func suspect(line, scratch []byte) (candidates uint32, _ []byte) {
	const shortest = len("a://b@")
	if len(line) < shortest {
		return 0, scratch
	}
	lower := append(scratch[:0], line...)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	for i, s := range shapes {
		if slices.ContainsFunc(s.hints, func(hint string) bool { return bytes.Contains(lower, []byte(hint)) }) {
			candidates |= 1 << i
		}
	}
	return candidates, lower
}

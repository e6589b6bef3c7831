package audit

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport/inject"
)

// Most bytes kept of one field. A longer one ends in "…".
const (
	maxShort  = 64   // methods, ids, protocols
	maxHost   = 260  // the longest DNS name, and enough to see that it is longer
	maxText   = 512  // details, globs, label values
	maxPath   = 1024 // paths
	maxLabels = 32   // labels of one record
)

// Path returns a request target's path as records hold it: without query and
// fragment, control characters replaced, bounded.
func Path(target string) string {
	if i := strings.IndexAny(target, "?#"); i >= 0 {
		target = target[:i]
	}
	return clean(target, maxPath)
}

// cleaned returns r with every text field harmless and bounded, so that no
// caller can forget to.
func (r Record) cleaned() Record {
	r.Boundary = clean(r.Boundary, maxHost)
	r.RequestID = clean(r.RequestID, maxShort)
	r.Mode = clean(r.Mode, maxShort)
	r.Protocol = clean(r.Protocol, maxShort)
	r.Method = clean(r.Method, maxShort)
	r.Scheme = clean(r.Scheme, maxShort)
	r.Host = clean(r.Host, maxHost)
	r.Path = Path(r.Path)
	r.Verdict = clean(r.Verdict, maxShort)
	r.Glob = clean(r.Glob, maxText)
	r.Reason = clean(r.Reason, maxShort)
	r.Detail = clean(r.Detail, maxText)
	r.Severity = clean(r.Severity, maxShort)
	r.Address = clean(r.Address, maxShort)
	r.Labels = cleanLabels(r.Labels)
	r.Injected = cleanInjected(r.Injected)
	r.Finds = cleanFinds(r.Finds)
	r.Git = cleanGit(r.Git)
	return r
}

// cleanInjected bounds how many there are too, though a boundary has no more
// bindings. It leaves the caller's slice alone.
func cleanInjected(all []inject.Injected) []inject.Injected {
	if len(all) == 0 {
		return nil
	}
	out := make([]inject.Injected, 0, min(len(all), inject.MaxBindings))
	for _, in := range all[:cap(out)] {
		out = append(out, inject.Injected{
			Env:     clean(in.Env, maxHost),
			Secret:  clean(in.Secret, maxText),
			Header:  clean(in.Header, maxHost),
			Version: clean(in.Version, maxHost),
		})
	}
	return out
}

// cleanFinds does the same: a header that a find names is the sandbox's word.
func cleanFinds(all []inject.Find) []inject.Find {
	if len(all) == 0 {
		return nil
	}
	out := make([]inject.Find, 0, min(len(all), inject.MaxBindings))
	for _, f := range all[:cap(out)] {
		out = append(out, inject.Find{
			Kind:  f.Kind,
			Env:   clean(f.Env, maxHost),
			Owner: clean(f.Owner, maxHost),
			Where: clean(f.Where, maxHost),
		})
	}
	return out
}

// cleanGit leaves the caller's value alone.
func cleanGit(g *Git) *Git {
	if g == nil {
		return nil
	}
	return &Git{
		Repository: clean(g.Repository, maxHost), Access: clean(g.Access, maxShort), Issuer: clean(g.Issuer, maxShort),
		TokenHash: clean(g.TokenHash, maxShort), Expires: g.Expires,
	}
}

func cleanLabels(labels map[string]string) map[string]string {
	dirty := len(labels) > maxLabels
	for k, v := range labels {
		dirty = dirty || clean(k, maxShort) != k || clean(v, maxText) != v
	}
	if !dirty {
		return labels
	}
	out := make(map[string]string, maxLabels)
	for k, v := range labels {
		if len(out) == maxLabels {
			break
		}
		out[clean(k, maxShort)] = clean(v, maxText)
	}
	return out
}

// clean replaces what could move a terminal's cursor, reorder text or end a
// line, and cuts s to at most limit bytes.
func clean(s string, limit int) string {
	if isPlain(s) && len(s) <= limit {
		return s
	}
	// The cut comes first: the cost of a hostile field is bounded by limit.
	cut := len(s) > limit
	if cut {
		s = s[:limit-len("…")]
	}
	s = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) || c == utf8.RuneError {
			return '?'
		}
		return c
	}, s)
	if cut {
		s += "…"
	}
	return s
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

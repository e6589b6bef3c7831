package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/sallyport/sallyport/edge/audit"
)

// Way is how a probe is told to reach the edge.
type Way string

// The ways of a probe.
const (
	Explicit    Way = "explicit"    // with the proxy variables
	Transparent Way = "transparent" // without them
)

// Ways returns the ways that p is run in.
func (p Probe) Ways() []Way {
	if p.Bare {
		return []Way{Transparent}
	}
	return []Way{Explicit, Transparent}
}

var unfit = regexp.MustCompile(`[^a-z0-9]+`)

// Host is the name of the origin for p run in one way, so that the edge's
// records tell the probes apart.
func (p Probe) Host(way Way) string {
	return unfit.ReplaceAllString(strings.ToLower(p.Name), "-") + "-" + string(way) + "." + Domain
}

// Status of a result; the zero value is none of them.
type Status string

// What became of a probe.
const (
	OK     Status = "ok"
	Failed Status = "failed"
	Absent Status = "absent" // the runtime isn't there
)

// Outcome is how a probe ended.
type Outcome struct {
	Code     int
	Output   string // of both streams
	TimedOut bool
	Records  []audit.Record // of its host
}

// Finding is what one probe did in one way. Without a way, its runtime is
// absent.
type Finding struct {
	Probe   Probe
	Version string
	Way     Way
	Outcome Outcome
	// Answer is the origin's.
	Answer string
	// Proxy is HTTPS_PROXY of the probe, Set the value of its own variable for
	// trust, and Wanted the one that it should have.
	Proxy, Set, Wanted string
}

// Result is the examination of one runtime in one way, as -o json prints it.
type Result struct {
	Runtime string `json:"runtime"`
	Version string `json:"version,omitempty"`
	Way     Way    `json:"way,omitempty"` // empty if the runtime is absent
	Status  Status `json:"status"`
	// Crossed is the way that its requests really took: a runtime that ignores
	// the proxy variables crosses transparently.
	Crossed string `json:"crossed,omitempty"`
	Cause   string `json:"cause,omitempty"`
	Said    string `json:"said,omitempty"` // the last line of the probe
	Advice  string `json:"advice,omitempty"`
}

// Judge says whether a probe worked: it did if it printed the answer and its
// request crossed the edge.
func Judge(f Finding) Result {
	if f.Way == "" {
		return Result{Runtime: f.Probe.Name, Status: Absent}
	}
	r := Result{Runtime: f.Probe.Name, Version: f.Version, Way: f.Way, Status: Failed}
	crossed := slices.IndexFunc(f.Outcome.Records, func(rec audit.Record) bool {
		return rec.Verdict == audit.VerdictAllow && (rec.Mode == audit.ModeExplicit || rec.Mode == audit.ModeTransparent)
	})
	if crossed >= 0 {
		r.Crossed = f.Outcome.Records[crossed].Mode
	}
	answered := f.Outcome.Code == 0 && strings.Contains(f.Outcome.Output, f.Answer)
	if answered && crossed >= 0 {
		r.Status = OK
		return r
	}
	r.Said = lastLine(f.Outcome.Output)
	r.Cause, r.Advice = f.why(answered, crossed >= 0)
	if f.Outcome.TimedOut {
		r.Cause += "; it ran out of time"
	}
	return r
}

// why returns the cause of a failure and what to do about it.
func (f Finding) why(answered, crossed bool) (cause, advice string) {
	records := f.Outcome.Records
	refused := slices.IndexFunc(records, func(rec audit.Record) bool { return rec.Verdict == audit.VerdictDeny })
	switch {
	case answered:
		return "the origin answered, and the edge has no record of it", "find the way past the edge: this must not happen"
	case slices.ContainsFunc(records, handshakeBroken):
		return "it doesn't trust the edge's certificate authority", f.trustAdvice()
	case refused >= 0:
		return fmt.Sprintf("the edge refused it: %s %s", records[refused].Reason, records[refused].Detail),
			"see the edge's audit for " + f.Probe.Host(f.Way)
	case crossed:
		return "its request crossed the edge, and it made nothing of the answer",
			"see what it said: the network and trust are in order"
	case f.Way == Explicit:
		return "nothing of it reached the edge", "check HTTPS_PROXY=" + f.Proxy + ", and what it reads in its place"
	default:
		return "nothing of it reached the edge", "check that it resolves names through /etc/resolv.conf and connects by TCP"
	}
}

// handshakeBroken reports whether a client broke off the edge's handshake,
// which is what it does when it doesn't know who signed the certificate.
func handshakeBroken(r audit.Record) bool {
	return r.Verdict == audit.VerdictDeny && strings.HasPrefix(r.Detail, "TLS handshake: ")
}

// trustAdvice says which variable or store to mend.
func (f Finding) trustAdvice() string {
	switch {
	case f.Probe.Trust == systemStore:
		return "add the edge's certificate (`edge trust --ca`) to the distribution's store: /usr/local/share/ca-certificates, then update-ca-certificates"
	case f.Set == "":
		return "set " + f.Probe.Trust + "=" + f.Wanted
	default:
		return "it was told by " + f.Probe.Trust + "=" + f.Set + ": find what makes it read another store"
	}
}

// lastLine returns the last line of output that says something, fit to print.
func lastLine(output string) string {
	const most = 300
	lines := strings.FieldsFunc(output, func(r rune) bool { return r == '\n' || r == '\r' })
	for _, line := range slices.Backward(lines) {
		line = strings.TrimSpace(strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return ' '
			}
			return r
		}, line))
		if len(line) > most {
			line = strings.ToValidUTF8(line[:most], "") + "…"
		}
		if line != "" {
			return line
		}
	}
	return ""
}

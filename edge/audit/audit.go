// Package audit writes one record per crossing: a JSON line that says who
// asked for what and what the edge answered. Records hold names, hashes and
// versions, never values; a URL's query is never recorded (decision 31).
//
// The edge makes a [Record] for each crossing and gives it to a [Sink]; a
// [Log] is the Sink that writes lines to a file.
//
// Security promise: a record that was accepted is written or reported as lost,
// never silently dropped; when the disk can't take more, crossings wait. What
// hostile bytes a field may hold, each record is one line of bounded length.
package audit

import (
	"time"

	"github.com/sallyport/sallyport/inject"
)

// Severities of a record. An allowed crossing has none. Low is a verdict or
// fault as it happens every day; medium needs somebody's look when it repeats;
// high is an attempt to get around the boundary; critical should be
// impossible.
const (
	SeverityLow      = "low"
	SeverityMedium   = "medium"
	SeverityHigh     = "high"
	SeverityCritical = "critical"
)

// Verdicts of a record.
const (
	VerdictAllow = "allow"
	VerdictDeny  = "deny"
	// VerdictObserve is a crossing that the policy denies and that was let
	// through, because its boundary is only observed.
	VerdictObserve = "observe"
)

// Modes of a record: how the flow came in.
const (
	ModeExplicit    = "explicit"
	ModeTransparent = "transparent"
	ModeDNS         = "dns"
	ModeBroker      = "broker"
)

// Record is one crossing: a request, a refused CONNECT, an opaque tunnel, a DNS
// query, or a git credential that was asked for, minted or revoked.
type Record struct {
	Time       time.Time         `json:"time"`
	Boundary   string            `json:"boundary"`
	Labels     map[string]string `json:"labels,omitempty"`
	RequestID  string            `json:"request_id,omitempty"`
	Mode       string            `json:"mode"`               // explicit, transparent, dns, broker
	Protocol   string            `json:"protocol,omitempty"` // http/1.1, h2, websocket, opaque, dns
	Method     string            `json:"method,omitempty"`
	Scheme     string            `json:"scheme,omitempty"`
	Host       string            `json:"host"`
	Port       uint16            `json:"port,omitempty"`
	Path       string            `json:"path,omitempty"`
	Verdict    string            `json:"verdict"`          // allow, deny, observe
	Rule       int               `json:"rule"`             // -1: no rule
	Glob       string            `json:"glob,omitempty"`   // of the deciding rule
	Reason     string            `json:"reason"`           // ledger ED-24
	Detail     string            `json:"detail,omitempty"` // operator's eyes only
	Severity   string            `json:"severity,omitempty"`
	Status     int               `json:"status,omitempty"`
	BytesUp    int64             `json:"bytes_up"`
	BytesDown  int64             `json:"bytes_down"`
	DurationMS int64             `json:"duration_ms"`
	Address    string            `json:"address,omitempty"` // dialled
	Injected   []inject.Injected `json:"injected,omitempty"`
	Finds      []inject.Find     `json:"finds,omitempty"` // placeholders and secrets on their way out
	Git        *Git              `json:"git,omitempty"`
}

// Git is the credential that a record of mode "broker" is about.
type Git struct {
	Repository string    `json:"repository"`
	Access     string    `json:"access"`
	Issuer     string    `json:"issuer"`
	TokenHash  string    `json:"token_hash,omitempty"` // the first digits of its SHA-256
	Expires    time.Time `json:"expires_at,omitzero"`
}

// Sink takes records. Record may wait, never drops, and is safe for concurrent
// use; it doesn't keep the record's map and slice.
type Sink interface {
	Record(Record)
}

// SinkFunc is a function as a Sink.
type SinkFunc func(Record)

// Record calls f.
func (f SinkFunc) Record(r Record) { f(r) }

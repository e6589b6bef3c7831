// Package audit writes one record per crossing: a JSON line that says who
// asked for what and what the edge answered. Records hold names, hashes and
// versions, never values; a URL's query is never recorded (decision 31).
package audit

import (
	"time"

	"github.com/sallyport/sallyport/inject"
)

// Record is one crossing: a request, a refused CONNECT, an opaque tunnel or a
// DNS query.
type Record struct {
	Time       time.Time         `json:"time"`
	Boundary   string            `json:"boundary"`
	Labels     map[string]string `json:"labels,omitempty"`
	RequestID  string            `json:"request_id,omitempty"`
	Mode       string            `json:"mode"`               // explicit, transparent, dns
	Protocol   string            `json:"protocol,omitempty"` // http/1.1, h2, websocket, opaque, dns
	Method     string            `json:"method,omitempty"`
	Scheme     string            `json:"scheme,omitempty"`
	Host       string            `json:"host"`
	Port       uint16            `json:"port,omitempty"`
	Path       string            `json:"path,omitempty"`
	Verdict    string            `json:"verdict"`          // allow, deny
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
}

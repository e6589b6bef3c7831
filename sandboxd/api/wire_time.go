package api

import (
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// instant is a time as answers have it: RFC 3339, UTC, milliseconds (ledger
// AP-9). The zero value is left out.
type instant struct{ time.Time }

// instantLayout is RFC 3339 with exactly three digits of a second.
const instantLayout = "2006-01-02T15:04:05.000Z"

func at(t time.Time) instant { return instant{t} }

// MarshalJSON implements json.Marshaler.
func (i instant) MarshalJSON() ([]byte, error) {
	return []byte(`"` + i.UTC().Format(instantLayout) + `"`), nil
}

// Schema implements huma.SchemaProvider.
func (instant) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time"}
}

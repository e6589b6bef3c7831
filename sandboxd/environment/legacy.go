package environment

import (
	"encoding/json"

	"github.com/sallyport/sallyport/sandboxd/environment/script"
	"github.com/sallyport/sallyport/sandboxd/strict"
)

// ImportSetup reads a setup that was stored or exported earlier. A list of
// commands or of command groups is a format that no longer runs: it gives no
// script, and says so in a warning (ledger SV-46). An empty list had nothing to
// lose. Anything else is read as strictly as in a request.
func ImportSetup(data []byte) (Setup, []Warning, error) {
	var old []json.RawMessage
	if json.Unmarshal(data, &old) == nil && old != nil {
		if len(old) == 0 {
			return Setup{}, nil, nil
		}
		return Setup{}, []Warning{script.Discarded()}, nil
	}
	var b setupBody
	if err := strict.Decode(data, &b); err != nil {
		return Setup{}, nil, err
	}
	s, err := b.setup()
	if err != nil {
		return Setup{}, nil, err
	}
	d := Normalise(Definition{Setup: s})
	return d.Setup, d.Warnings(), nil
}

package environment

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/sallyport/sallyport/policy"
)

// Fingerprint returns an opaque value that is equal for two normalised
// definitions exactly when a setup run would test the same configuration
// (ledger SV-35, SV-36). It needs nothing but the definition: an environment
// that names no image keeps its fingerprint when the service gets a new runner
// image, for its sessions can then still set up by themselves (ledger SV-42).
func Fingerprint(d Definition) string {
	tested := map[string]any{}
	for _, s := range settings {
		if s.tested != nil {
			tested[s.name] = s.tested(d)
		}
	}
	canonical, err := json.Marshal(tested) // sorts the keys of maps
	if err != nil {
		panic("environment: encode a definition: " + err.Error()) // strings, numbers, lists and maps of them encode
	}
	sum := sha256.Sum256(canonical)
	return "fp_" + hex.EncodeToString(sum[:])
}

// testedPolicy is a policy as plain values, for the encoding of documents
// fails on those that don't compile.
func testedPolicy(d policy.Document) any {
	rules := make([][2]string, len(d.Rules))
	for i, r := range d.Rules {
		rules[i] = [2]string{r.Action.String(), r.HostGlob}
	}
	return map[string]any{"unrestricted": d.Unrestricted, "rules": rules}
}

// caches are what boot steps keep between boots, each under its effective key;
// the commands themselves run at every boot, whatever an image holds.
func caches(steps []BootStep) []Cache {
	var kept []Cache
	for _, s := range steps {
		if s.Cache != nil {
			c := *s.Cache
			if c.Key == "" {
				c.Key = s.Name
			}
			kept = append(kept, c)
		}
	}
	return kept
}

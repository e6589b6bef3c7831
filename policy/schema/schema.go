// Package schema holds the JSON Schemas of what operators write by hand, for
// editors to complete and check while they type.
//
// The schemas say less than the parsers do: a document that fits may still be
// refused. They are never used to accept anything.
package schema

import (
	_ "embed"
)

// Policy is the schema of a network policy.
//
//go:embed policy.schema.json
var Policy []byte

// Fixtures is the schema of a file of expected verdicts.
//
//go:embed fixtures.schema.json
var Fixtures []byte

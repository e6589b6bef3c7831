package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/policy"
)

// maxPolicyBytes is far above any policy of 200 rules; it keeps a wrong FILE
// from filling the memory.
const maxPolicyBytes = 1 << 20

// readPolicy reads and parses a policy file; "-" is the standard input of cmd.
// Its errors name the file and the place in it.
func readPolicy(cmd *cobra.Command, file string) (policy.Document, error) {
	name, in := policyName(file), cmd.InOrStdin()
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return policy.Document{}, fmt.Errorf("read policy: %w", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxPolicyBytes+1))
	if err != nil {
		return policy.Document{}, fmt.Errorf("read policy %s: %w", name, err)
	}
	if len(data) > maxPolicyBytes {
		return policy.Document{}, fmt.Errorf("%s: expected at most %d bytes", name, maxPolicyBytes)
	}
	doc, err := policy.Parse(data)
	if err != nil {
		return policy.Document{}, fmt.Errorf("%s: %w", name, err)
	}
	return doc, nil
}

// policyName is a FILE argument in words.
func policyName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	"golang.org/x/net/publicsuffix"

	"github.com/sallyport/sallyport/policy"
)

// policySource is a policy with the text that it was read from.
type policySource struct {
	file string
	data []byte
	doc  policy.Document
}

// readPolicy reads and parses a policy file; "-" is the standard input of cmd.
// Its errors name the file and the place in it.
func readPolicy(cmd *cobra.Command, file string) (policy.Document, error) {
	source, err := readPolicySource(cmd, file)
	return source.doc, err
}

func readPolicySource(cmd *cobra.Command, file string) (policySource, error) {
	name, in := policyName(file), cmd.InOrStdin()
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return policySource{}, fmt.Errorf("read policy: %w", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, policy.MaxSize+1))
	if err != nil {
		return policySource{}, fmt.Errorf("read policy %s: %w", name, err)
	}
	doc, err := policy.Parse(data)
	if err != nil {
		return policySource{}, fmt.Errorf("%s: %w", name, err)
	}
	return policySource{file, data, doc}, nil
}

// policyName is a FILE argument in words.
func policyName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

// ruleLines returns the line of each rule in the text of a valid policy.
func ruleLines(data []byte) []int {
	var root yaml.Node
	if yaml.Unmarshal(data, &root) != nil || len(root.Content) == 0 {
		return nil
	}
	object := root.Content[0].Content
	for i := 0; i+1 < len(object); i += 2 {
		if object[i].Value != "rules" {
			continue
		}
		var lines []int
		for _, rule := range object[i+1].Content {
			lines = append(lines, rule.Line)
		}
		return lines
	}
	return nil
}

// isPublicSuffix says whether names of unrelated owners are registered under a
// name. A top-level name that the list doesn't have is nobody's or private.
func isPublicSuffix(name string) bool {
	suffix, listed := publicsuffix.PublicSuffix(name)
	return suffix == name && (listed || strings.Contains(suffix, "."))
}

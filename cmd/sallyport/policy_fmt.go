package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/sallyport/sallyport/policy"
)

func newPolicyFmtCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fmt FILE",
		Short: "Write a policy in its usual form",
		Long: `Write a policy in its usual form: one rule a line, keys in order, globs in
quotes. Comments stay, and so does the meaning and the spelling of globs. JSON
stays JSON. The result goes to standard output unless --write says otherwise.`,
		Example: `  sallyport policy fmt --write policy.yaml
  sallyport policy fmt --check policy.yaml`,
		Args: cobra.ExactArgs(1),
	}
	write := cmd.Flags().BoolP("write", "w", false, "write the file instead")
	check := cmd.Flags().Bool("check", false, "only say, by exit code 3, that the form is another")
	cmd.MarkFlagsMutuallyExclusive("write", "check")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		source, err := readPolicySource(cmd, args[0])
		if err != nil {
			return err
		}
		text, err := formatPolicy(source)
		if err != nil {
			return fmt.Errorf("%s: format policy: %w", policyName(args[0]), err)
		}
		same := bytes.Equal(text, source.data)
		switch {
		case *check && !same:
			fmt.Fprintf(cmd.OutOrStdout(), "%s is in another form\n", policyName(args[0]))
			return exitError{code: exitNo}
		case *check, *write && same:
			return nil
		case *write && args[0] == "-":
			return usageErrorf("--write: standard input can't be written")
		case *write:
			return replaceFile(args[0], text)
		}
		_, err = cmd.OutOrStdout().Write(text)
		return err
	}
	return cmd
}

// formatPolicy returns the text of the same document in its usual form.
func formatPolicy(source policySource) ([]byte, error) {
	var out bytes.Buffer
	if json.Valid(source.data) {
		if err := printJSON(&out, source.doc); err != nil {
			return nil, err
		}
	} else {
		var root yaml.Node
		if err := yaml.Unmarshal(source.data, &root); err != nil {
			return nil, err
		}
		arrange(&root)
		e := yaml.NewEncoder(&out)
		e.SetIndent(2)
		if err := errors.Join(e.Encode(&root), e.Close()); err != nil {
			return nil, err
		}
	}
	again, err := policy.Parse(out.Bytes())
	if err != nil || !again.Equal(source.doc) {
		return nil, fmt.Errorf("the result would be another policy: %w", errors.Join(err))
	}
	return out.Bytes(), nil
}

// arrange orders keys and sets styles in the tree of a valid policy.
func arrange(n *yaml.Node) {
	switch n.Kind {
	case yaml.DocumentNode:
		for _, c := range n.Content {
			arrange(c)
		}
	case yaml.MappingNode:
		if len(n.Content) == 4 && (n.Content[0].Value == "rules" || n.Content[0].Value == "action") {
			// A comment above the first key is about all of it.
			n.Content[2].HeadComment, n.Content[0].HeadComment = n.Content[0].HeadComment, n.Content[2].HeadComment
			n.Content = []*yaml.Node{n.Content[2], n.Content[3], n.Content[0], n.Content[1]}
		}
		if len(n.Content) > 0 {
			n.Style = 0
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			n.Content[i].Style = 0
			if n.Content[i+1].Kind == yaml.ScalarNode {
				n.Content[i+1].Style = 0
			}
			if n.Content[i].Value == "rules" {
				arrangeRules(n.Content[i+1])
			}
		}
	case yaml.SequenceNode, yaml.ScalarNode, yaml.AliasNode:
	}
}

func arrangeRules(rules *yaml.Node) {
	if len(rules.Content) > 0 {
		rules.Style = 0
	}
	for _, rule := range rules.Content {
		arrange(rule)
		if !hasComment(rule, true) {
			rule.Style = yaml.FlowStyle
		}
		plain(rule)
	}
}

// plain takes the style off all words of a rule but globs, which get quotes.
func plain(n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		key.Style = 0
		switch {
		case value.Kind == yaml.MappingNode:
			if value.Style = 0; !hasComment(value, false) {
				value.Style = yaml.FlowStyle
			}
			plain(value)
		case key.Value == "host_glob":
			value.Style = yaml.DoubleQuotedStyle
		default:
			value.Style = 0
		}
	}
}

// hasComment reports whether a comment stands inside of n, where a rule on one
// line has no place for it; top leaves out those of n itself.
func hasComment(n *yaml.Node, top bool) bool {
	if !top && n.HeadComment+n.LineComment+n.FootComment != "" {
		return true
	}
	for _, c := range n.Content {
		if hasComment(c, false) {
			return true
		}
	}
	return false
}

// replaceFile writes a file beside the old one and puts it in its place, so
// that no reader sees half of it.
func replaceFile(file string, text []byte) error {
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("write policy: %w", err)
	}
	next := file + ".new"
	if err := os.WriteFile(next, text, info.Mode().Perm()); err != nil {
		return fmt.Errorf("write policy: %w", err)
	}
	if err := os.Rename(next, file); err != nil {
		return errors.Join(fmt.Errorf("write policy: %w", err), os.Remove(next))
	}
	return nil
}

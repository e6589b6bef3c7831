package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/policy"
)

// ruleFlag is --allow or --deny. Both append to one list, because the order in
// which they are given is the order of the rules.
type ruleFlag struct {
	rules  *[]policy.Rule
	action policy.Action
}

// String implements pflag.Value.
func (f ruleFlag) String() string {
	if f.rules == nil {
		return ""
	}
	var globs []string
	for _, r := range *f.rules {
		if r.Action == f.action {
			globs = append(globs, r.HostGlob)
		}
	}
	return strings.Join(globs, ",")
}

// Type implements pflag.Value.
func (f ruleFlag) Type() string { return "GLOB" }

// Set implements pflag.Value.
func (f ruleFlag) Set(glob string) error {
	rule := policy.Rule{HostGlob: glob, Action: f.action}
	if _, err := policy.Compile(policy.Document{Rules: []policy.Rule{rule}}); err != nil {
		var e *policy.Error
		if errors.As(err, &e) {
			return errors.New(e.Msg)
		}
		return err
	}
	*f.rules = append(*f.rules, rule)
	return nil
}

// accessFlags say which hosts a command may reach.
type accessFlags struct {
	file         string
	rules        []policy.Rule
	unrestricted bool
}

func (f *accessFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.file, "policy", "", "network policy `FILE`, YAML or JSON; - is standard input")
	flags.Var(ruleFlag{&f.rules, policy.Allow}, "allow", "allow hosts that match `GLOB`; the first match of --allow and --deny counts")
	flags.Var(ruleFlag{&f.rules, policy.Deny}, "deny", "deny hosts that match `GLOB`")
	flags.BoolVar(&f.unrestricted, "unrestricted", false, "allow every host")
	_ = cmd.MarkFlagFilename("policy", "yaml", "yml", "json")
	for _, other := range []string{"allow", "deny"} {
		cmd.MarkFlagsMutuallyExclusive("policy", other)
		cmd.MarkFlagsMutuallyExclusive("unrestricted", other)
	}
	cmd.MarkFlagsMutuallyExclusive("policy", "unrestricted")
}

// document returns the policy that the flags mean; without any, the one that
// denies every host.
func (f *accessFlags) document(cmd *cobra.Command) (policy.Document, error) {
	if f.file != "" {
		return readPolicy(cmd, f.file)
	}
	doc := policy.Document{Unrestricted: f.unrestricted, Rules: f.rules}
	if _, err := policy.Compile(doc); err != nil {
		return policy.Document{}, fmt.Errorf("--allow and --deny: %w", err)
	}
	return doc, nil
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command tells by example how it is used.
func TestCommandsHaveHelp(t *testing.T) {
	t.Parallel()
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Short == "" || !strings.Contains(cmd.Example, "sallyport ") {
			t.Errorf("%s has no description or no example", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(newRoot())
}

func TestRunUsage(t *testing.T) {
	t.Parallel()
	cases := []struct {
		args   []string
		code   int
		stderr string
	}{
		{nil, exitUsage, "a command is required"},
		{[]string{"nope"}, exitUsage, `unknown command "nope"`},
		{[]string{"polcy"}, exitUsage, "did you mean policy?"},
		{[]string{"--nope"}, exitUsage, "unknown flag: --nope"},
		{[]string{"policy"}, exitUsage, "a command is required"},
		{[]string{"policy", "nope"}, exitUsage, `unknown command "nope" for "sallyport policy"`},
		{[]string{"policy", "check", "--nope"}, exitUsage, "unknown flag: --nope"},
		{[]string{"policy", "check"}, exitUsage, "Run 'sallyport policy check --help'"},
		{[]string{"policy", "check", "-o", "xml", "-"}, exitUsage, "want one of text, json, sarif"},
		{[]string{"help", "nope"}, exitUsage, `unknown command "nope"`},
		{[]string{"help", "policy", "nope"}, exitUsage, `unknown command "policy nope"`},
		{[]string{"help"}, exitDone, ""},
		{[]string{"help", "policy", "test"}, exitDone, ""},
		{[]string{"--help"}, exitDone, ""},
		{[]string{"policy", "--help"}, exitDone, ""},
	}
	for _, c := range cases {
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), c.args, strings.NewReader(""), &stdout, &stderr)
		if code != c.code || !strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("%q: exit code %d, %q; want %d, %q", c.args, code, stderr.String(), c.code, c.stderr)
		}
	}
}

// What a command returns decides its exit code.
func TestPrepareExitCodes(t *testing.T) {
	t.Parallel()
	cases := []struct {
		err  error
		code int
	}{
		{errors.New("broken"), exitFailed},
		{exitError{code: exitNo}, exitNo},
		{fmt.Errorf("run: %w", exitError{code: 42}), 42},
		{usageErrorf("both flags"), exitUsage},
	}
	for _, c := range cases {
		cmd := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return c.err }}
		prepare(cmd)
		cmd.SetArgs(nil)
		var exit exitError
		if err := cmd.Execute(); !errors.As(err, &exit) || exit.code != c.code {
			t.Errorf("%v: exit code %d, want %d", c.err, exit.code, c.code)
		}
	}
}

package main

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/edge/control"
)

// controlSocket is the control socket's name in the state directory, unless
// the edge's configuration has it elsewhere.
const controlSocket = "control"

// controlFlag says where the edge's control socket is.
type controlFlag struct {
	path  string
	state *stateFlag
}

// addControlFlag gives cmd and its subcommands the flags --control and --state.
func addControlFlag(cmd *cobra.Command) *controlFlag {
	f := &controlFlag{state: addStateFlag(cmd)}
	cmd.PersistentFlags().StringVar(&f.path, "control", "", "control socket of the edge, its listen.control (`PATH`; default: "+controlSocket+" in the state directory)")
	return f
}

// client returns a client of the edge that the flags name.
func (f *controlFlag) client() (*control.Client, error) {
	if f.path != "" {
		return control.NewClient(f.path), nil
	}
	dir, err := f.state.dir()
	if err != nil {
		return nil, err
	}
	return control.NewClient(filepath.Join(dir, controlSocket)), nil
}

// newBoundaryCommand returns the group of commands on the boundaries that are
// open in a running edge.
func newBoundaryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "boundary",
		Short:   "Look at the open boundaries of an edge",
		Example: `  sallyport boundary env ci --control /run/edge/control`,
	}
	cmd.AddCommand(newBoundaryEnvCommand(addControlFlag(cmd)))
	return cmd
}

func newBoundaryEnvCommand(flag *controlFlag) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "env ID",
		Short: "Print the placeholders of a boundary, by variable",
		Long: `Print the placeholders of a boundary, by variable, ready for a shell's eval. They
are no secrets, and they change whenever the edge starts.`,
		Example: `  eval "$(sallyport boundary env ci --control /run/edge/control)"
  sallyport boundary env ci -o json`,
		Args: cobra.ExactArgs(1),
	}
	format := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		edge, err := flag.client()
		if err != nil {
			return err
		}
		env, err := edge.Env(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if *format == outputJSON {
			return printJSON(cmd.OutOrStdout(), env)
		}
		return printVariables(cmd.OutOrStdout(), env)
	}
	return cmd
}

// printVariables writes variables for a POSIX shell's eval.
func printVariables(w io.Writer, env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		quoted := "'" + strings.ReplaceAll(env[name], "'", `'\''`) + "'"
		if _, err := fmt.Fprintf(w, "export %s=%s\n", name, quoted); err != nil {
			return err
		}
	}
	return nil
}

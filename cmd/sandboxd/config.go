package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/edge/strict"
	"github.com/sallyport/sallyport/sandboxd/machine"
)

// config is sandboxd.yaml.
type config struct {
	State    string          `json:"state"`  // directory of the store
	Listen   string          `json:"listen"` // HOST:PORT of the control API
	Edge     configEdge      `json:"edge"`
	Machines []configMachine `json:"machines"` // default: this machine
	Limits   configLimits    `json:"limits"`
}

type configEdge struct {
	Control string `json:"control"` // its control socket; empty: no sandbox is started
}

type configMachine struct {
	Name         string   `json:"name"`
	CPUMilli     int64    `json:"cpu_milli"`
	MemoryMiB    int64    `json:"memory_mib"`
	Enforces     bool     `json:"enforces"` // network policies
	Accelerators []string `json:"accelerators"`
}

type configLimits struct {
	ParallelRuns        int `json:"parallel_runs"`         // with compute at once; 0: 4
	RunsPerOrganization int `json:"runs_per_organization"` // in flight; 0: 4
}

// defaultListen is reached from this machine only.
const defaultListen = "127.0.0.1:7070"

// environment variables replace what the file says.
var overrides = map[string]func(*config, string){
	"SANDBOXD_STATE":        func(c *config, v string) { c.State = v },
	"SANDBOXD_LISTEN":       func(c *config, v string) { c.Listen = v },
	"SANDBOXD_EDGE_CONTROL": func(c *config, v string) { c.Edge.Control = v },
}

// loadConfig reads a configuration file, as strictly as the edge reads its own.
// Relative paths in it are relative to its directory.
func loadConfig(path string) (*config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	var c config
	if err := strict.YAML(data, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	c.State, c.Edge.Control = below(dir, c.State), below(dir, c.Edge.Control)
	for name, set := range overrides {
		if value, ok := os.LookupEnv(name); ok {
			set(&c, value)
		}
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &c, nil
}

func below(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// check fills in defaults and refuses what can't work.
func (c *config) check() error {
	if c.State == "" {
		return &strict.Error{Path: "state", Msg: "expected a directory"}
	}
	if c.Listen == "" {
		c.Listen = defaultListen
	}
	// ":7070" would listen on every interface, which nobody should get by
	// leaving something out.
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil || host == "" {
		return &strict.Error{Path: "listen", Msg: fmt.Sprintf("expected HOST:PORT, such as %q", defaultListen)}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return &strict.Error{Path: "listen", Msg: "expected a port from 0 to 65535"}
	}
	for i, m := range c.Machines {
		if m.Name == "" || m.CPUMilli < machine.MinCPUMilli || m.MemoryMiB < machine.MinMemoryMiB {
			return &strict.Error{Path: fmt.Sprintf("machines[%d]", i), Msg: fmt.Sprintf(
				"expected a name, a cpu_milli from %d and a memory_mib from %d on", machine.MinCPUMilli, machine.MinMemoryMiB)}
		}
	}
	if c.Limits.ParallelRuns < 0 || c.Limits.RunsPerOrganization < 0 {
		return &strict.Error{Path: "limits", Msg: "expected numbers from 0 on"}
	}
	return nil
}

// catalogue is what is on offer.
func (c *config) catalogue() (machine.Catalogue, error) {
	if len(c.Machines) == 0 {
		var info unix.Sysinfo_t
		if err := unix.Sysinfo(&info); err != nil {
			return nil, fmt.Errorf("find the size of this machine: %w", err)
		}
		const mebibyte = 1 << 20
		return machine.Local(int64(runtime.NumCPU())*1000, int64(info.Totalram)*int64(info.Unit)/mebibyte), nil //nolint:gosec // fits: memory is below 2^63 bytes
	}
	var all machine.Catalogue
	for _, m := range c.Machines {
		all = append(all, machine.Machine(m))
	}
	return all, nil
}

func newConfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Work with the configuration",
		Example: "  sandboxd config check --config sandboxd.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return errors.New("a command is required") },
	}
	check := &cobra.Command{
		Use:     "check --config FILE",
		Short:   "Validate a configuration",
		Long:    "Validate a configuration. Exit code 1 says that it is invalid; the error names\nthe file, the place and what was expected.",
		Example: "  sandboxd config check --config sandboxd.yaml",
		Args:    cobra.NoArgs,
	}
	path := addConfigFlag(check)
	check.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := loadConfig(*path)
		if err != nil {
			return failedError{err}
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: valid, state in %s, API on %s\n", *path, c.State, c.Listen)
		return err
	}
	cmd.AddCommand(check)
	return cmd
}

// addConfigFlag gives cmd the required flag --config.
func addConfigFlag(cmd *cobra.Command) *string {
	path := cmd.Flags().String("config", "", "configuration `FILE`, YAML or JSON")
	_ = cmd.MarkFlagRequired("config")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml", "json")
	return path
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/oapi-codegen/nullable"
	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/sandboxd/apiclient"
)

// jsonType is the type of every body that the service takes.
const jsonType = "application/json"

// reader is the body as it is sent.
func (s settings) reader() (io.Reader, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode settings: %w", err)
	}
	return bytes.NewReader(data), nil
}

// page is a part of a list as it came.
type page struct {
	raw  json.RawMessage
	next nullable.Nullable[string]
}

// pages reads a list to its end.
func pages(read func(after *string) (page, error)) ([]json.RawMessage, error) {
	all := []json.RawMessage{}
	var after *string
	for {
		p, err := read(after)
		if err != nil {
			return nil, err
		}
		var items struct {
			Data []json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(p.raw, &items); err != nil {
			return nil, fmt.Errorf("read answer: %w", err)
		}
		all = append(all, items.Data...)
		next, err := p.next.Get()
		if err != nil || next == "" {
			return all, nil //nolint:nilerr // null is the end of the list
		}
		after = &next
	}
}

// internetAccess is what consoles call a network policy (ledger NP-35).
func internetAccess(e apiclient.Environment) string {
	switch rules := e.NetworkPolicy.Rules; {
	case rules == nil && e.NetworkPolicy.Version == nil:
		return "Enabled"
	case rules == nil || len(*rules) == 0:
		return "No access"
	}
	return "Custom policy (saved)"
}

// showEnvironment prints an environment that came as data.
func showEnvironment(cmd *cobra.Command, format outputFormat, data json.RawMessage, e apiclient.Environment) error {
	if format == outputJSON {
		return printAnswer(cmd.OutOrStdout(), data)
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(table, "%s:\t%s\n", name, value)
		}
	}
	row("Environment", e.EnvironmentId)
	row("Name", printable(e.Name))
	row("Description", printable(or(e.Description)))
	row("Runtime", printable(e.Provider))
	row("Compute", compute(e.Resources))
	row("Image", printable(or(e.Image)))
	row("Internet", internetAccess(e))
	if e.Privileged {
		row("Privileged", "containers inside the sandbox")
	}
	if e.ComputerUse {
		row("Display", fmt.Sprintf("port %d", or(e.HttpPort)))
	}
	row("Setup", setupState(e.SetupVerification))
	row("Updated", stamp(&e.UpdatedAt))
	if err := table.Flush(); err != nil {
		return err
	}
	for _, w := range e.SetupWarnings {
		where := ""
		if w.Line > 0 {
			where = fmt.Sprintf("line %d: ", w.Line)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "warning: %s%s (%s)\n", where, printable(w.Message), w.Code)
	}
	return nil
}

// setupState is the label of a verdict and the runs that it rests on (ledger
// SV-41).
func setupState(v apiclient.Verification) string {
	parts := []string{v.Label}
	if v.ActiveSetupRunId != nil {
		parts = append(parts, "run "+*v.ActiveSetupRunId+" in flight")
	}
	if v.SetupRunId != nil {
		parts = append(parts, "by run "+*v.SetupRunId+" at "+stamp(v.At))
	}
	return strings.Join(parts, ", ")
}

func compute(r *apiclient.Resources) string {
	if r == nil {
		return ""
	}
	if r.Accelerator != nil {
		return "1 " + r.Accelerator.Name
	}
	var parts []string
	if cpu := or(r.CpuMilli); cpu > 0 {
		parts = append(parts, fmt.Sprintf("%d.%03d processors", cpu/milli, cpu%milli))
	}
	if memory := or(r.MemoryMib); memory > 0 {
		parts = append(parts, fmt.Sprintf("%d MiB", memory))
	}
	return strings.Join(parts, ", ")
}

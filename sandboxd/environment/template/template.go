// Package template has setup scripts to start from.
//
// A template is copied by whoever uses it: nothing remembers where a script came
// from, and a changed template changes no environment. Its scripts pin what
// they install. The hosts that a script downloads from differ from one network
// to the next, so the package doesn't know them: it names the tools, and the
// caller says which hosts those are configured to use (package toolhosts asks).
package template

import (
	"embed"
	"slices"
)

// A Template is a script to start from.
type Template struct {
	ID          string
	Title       string
	Description string
	Script      string // in normal form
	Accelerator bool   // it needs a GPU
	// NetworkHosts are what a network policy must allow for it, sorted; empty
	// when nobody knows how its tools are configured.
	NetworkHosts []string

	tools []string
}

//go:embed scripts
var scripts embed.FS

// All returns the templates (ledger SV-47). hosts are, for a tool such as
// "npm", the hosts that it is configured to use; it may be nil. The caller owns
// the result.
func All(hosts map[string][]string) []Template {
	list := []Template{
		{ID: "python-uv", Title: "Python project with uv", tools: []string{"pip"},
			Description: "A virtual environment at /workspace/.venv, which the agent's commands use by themselves."},
		{ID: "node-npm", Title: "Node project with npm", tools: []string{"npm"},
			Description: "A package.json and its packages in /workspace."},
		{ID: "system-tools", Title: "System packages with apt", tools: []string{"apt"},
			Description: "Programs of the distribution, for every user of the sandbox."},
		{ID: "gpu-pytorch", Title: "GPU: PyTorch with CUDA", tools: []string{"pip"}, Accelerator: true,
			Description: "PyTorch in /workspace/.venv, and a check that it sees the GPU."},
	}
	for i := range list {
		t := &list[i]
		text, err := scripts.ReadFile("scripts/" + t.ID + ".sh")
		if err != nil {
			panic("template: " + err.Error()) // it is built in
		}
		t.Script = string(text)
		for _, tool := range t.tools {
			t.NetworkHosts = append(t.NetworkHosts, hosts[tool]...)
		}
		slices.Sort(t.NetworkHosts)
		t.NetworkHosts = slices.Compact(t.NetworkHosts)
	}
	return list
}

// Tools returns the names of the tools that templates download with, sorted:
// the keys that [All] looks for.
func Tools() []string {
	var tools []string
	for _, t := range All(nil) {
		tools = append(tools, t.tools...)
	}
	slices.Sort(tools)
	return slices.Compact(tools)
}

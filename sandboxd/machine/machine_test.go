package machine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/machine"
)

var catalogue = machine.Catalogue{
	{Name: "small", CPUMilli: 2000, MemoryMiB: 4096, Enforces: true},
	{Name: "wide", CPUMilli: 8000, MemoryMiB: 8192, Enforces: true},
	{Name: "deep", CPUMilli: 4000, MemoryMiB: 65536},
	{Name: "gpu", CPUMilli: 16000, MemoryMiB: 65536, Enforces: true, Accelerators: []string{"t4", "l4"}},
	{Name: "open gpu", CPUMilli: 16000, MemoryMiB: 65536, Accelerators: []string{"a100", "l4"}},
	{Name: "feeble gpu", CPUMilli: 4000, MemoryMiB: 8192, Enforces: true, Accelerators: []string{"k80"}},
}

// Ledger: GR-2, GR-3, GR-6
func TestFit(t *testing.T) {
	t.Parallel()
	plain := catalogue[:3]
	cases := []struct {
		catalogue machine.Catalogue
		need      machine.Need
		part      machine.Part
		says      string // empty: it fits
	}{
		{plain, machine.Need{}, 0, ""},
		{plain, need(8000, 8192, true), 0, ""},
		{plain, need(4000, 65536, false), 0, ""},
		// Each alone would fit; together nothing does.
		{plain, need(8000, 65536, false), machine.Memory, "no machine has 65536 MiB of memory at 8000 millicores; the most available there is 8192 MiB"},
		{plain, need(4000, 65536, true), machine.Memory, "no machine has 65536 MiB of memory at 4000 millicores under a restricted network policy; the most available there is 8192 MiB"},
		{plain, need(4001, 8193, false), machine.Memory, "at 4001 millicores; the most available there is 8192 MiB"},
		{plain, need(0, 65537, false), machine.Memory, "no machine has 65537 MiB of memory; the most available there is 65536 MiB"},
		{plain, need(8001, 0, false), machine.CPU, "no machine has 8001 millicores; the most available is 8000 millicores, with up to 8192 MiB"},
		{plain, need(8001, 1, true), machine.CPU, "under a restricted network policy; the most available is 8000 millicores"},
		{plain[2:], need(1, 1, true), machine.CPU, "no machine is on offer under a restricted network policy"},
		{nil, machine.Need{}, machine.CPU, "no machine is on offer"},
		{catalogue, machine.Need{Accelerator: "t4", Restricted: true}, 0, ""},
		{catalogue, machine.Need{Accelerator: "a100"}, 0, ""},
		{catalogue, machine.Need{Accelerator: "a100", Restricted: true}, machine.Accelerator, "available models: l4, t4"},
		{catalogue, machine.Need{Accelerator: "h100"}, machine.Accelerator, `the model "h100" isn't offered; available models: a100, l4, t4`},
		{catalogue, machine.Need{Accelerator: "k80"}, machine.Accelerator, "available models: a100, l4, t4"},
		{plain, machine.Need{Accelerator: "t4"}, machine.Accelerator, "available models: none"},
	}
	for _, c := range cases {
		err := c.catalogue.Fit(c.need)
		var misfit *machine.Misfit
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%+v: %v", c.need, err)
		case c.says != "" && !errors.As(err, &misfit):
			t.Errorf("%+v: %v, want a misfit", c.need, err)
		case c.says != "" && (misfit.Part != c.part || !strings.Contains(misfit.Error(), c.says) || len(misfit.Details) == 0):
			t.Errorf("%+v: part %d, %v, want %q", c.need, misfit.Part, misfit, c.says)
		}
		if size, err := c.catalogue.Resolve(c.need); (err == nil) != (c.says == "") || err == nil && (size.CPUMilli == 0 || size.MemoryMiB == 0) {
			t.Errorf("%+v resolves to %+v, %v", c.need, size, err)
		}
	}
}

func need(cpu, memory int64, restricted bool) machine.Need {
	return machine.Need{Size: machine.Size{CPUMilli: cpu, MemoryMiB: memory}, Restricted: restricted}
}

// Ledger: GR-7, GR-12
func TestResolve(t *testing.T) {
	t.Parallel()
	tiny := machine.Local(1000, 1536)
	cases := []struct {
		catalogue machine.Catalogue
		need      machine.Need
		want      machine.Size
	}{
		{catalogue, machine.Need{}, machine.Size{CPUMilli: 2000, MemoryMiB: 4096}},
		{catalogue, need(4000, 0, true), machine.Size{CPUMilli: 4000, MemoryMiB: 4096}},
		{catalogue, need(0, 65536, false), machine.Size{CPUMilli: 2000, MemoryMiB: 65536}},
		{catalogue, machine.Need{Accelerator: "t4"}, machine.AcceleratorSize()},
		{tiny, machine.Need{}, machine.Size{CPUMilli: 1000, MemoryMiB: 1536}},
		{tiny, need(500, 0, true), machine.Size{CPUMilli: 500, MemoryMiB: 1536}},
		// What was asked for wins over a default that would not fit beside it.
		{machine.Catalogue{{CPUMilli: 8000, MemoryMiB: 2048}, {CPUMilli: 2000, MemoryMiB: 4096}}, need(8000, 0, false), machine.Size{CPUMilli: 8000, MemoryMiB: 2048}},
	}
	for _, c := range cases {
		if got, err := c.catalogue.Resolve(c.need); err != nil || got != c.want {
			t.Errorf("%+v: %+v, %v, want %+v", c.need, got, err, c.want)
		}
	}
}

// Ledger: GR-5
func TestShortcuts(t *testing.T) {
	t.Parallel()
	want := []machine.Shortcut{
		{Name: "Light", Size: machine.Size{CPUMilli: 1000, MemoryMiB: 2048}},
		{Name: "Standard", Size: machine.Size{CPUMilli: 2000, MemoryMiB: 4096}},
		{Name: "Heavy", Size: machine.Size{CPUMilli: 4000, MemoryMiB: 8192}},
		{Name: "Max", Size: machine.Size{CPUMilli: machine.MaxCPUMilli, MemoryMiB: machine.MaxMemoryMiB}},
	}
	got := machine.Shortcuts()
	if !slices.Equal(got, want) {
		t.Errorf("shortcuts %+v", got)
	}
	for _, s := range got {
		if s.Size.CPUMilli%machine.StepCPUMilli != 0 || s.Size.MemoryMiB%machine.StepMemoryMiB != 0 {
			t.Errorf("%s isn't on a step", s.Name)
		}
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	c := machine.Local(2000, 8000)
	if err := c.Fit(need(2000, 8000, true)); err != nil {
		t.Errorf("the whole machine: %v", err)
	}
	if c.Fit(need(2250, 1024, true)) == nil || len(c.Models(false)) != 0 {
		t.Error("it offers more than it has")
	}
}

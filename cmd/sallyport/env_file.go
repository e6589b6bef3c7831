package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/edge/strict"
)

// A settings is the body that creates or changes an environment: what isn't
// there stays as it is, null is what a new environment has. The service checks
// it.
type settings map[string]json.RawMessage

func (s settings) set(name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	s[name] = data
	return nil
}

// maxSettings is what the service takes.
const maxSettings = 1 << 20

// readSettings reads a file of settings, YAML or JSON: the body of the API, or
// the form with the one key "environment". "-" is standard input.
func readSettings(cmd *cobra.Command, file string) (settings, error) {
	data, err := readInput(cmd, file)
	if err != nil {
		return nil, err
	}
	s, err := parseSettings(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", policyName(file), err)
	}
	return s, nil
}

func readInput(cmd *cobra.Command, file string) ([]byte, error) {
	in := cmd.InOrStdin()
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("read file: %w", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxSettings+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", policyName(file), err)
	}
	if len(data) > maxSettings {
		return nil, fmt.Errorf("read %s: more than %d bytes", policyName(file), maxSettings)
	}
	return data, nil
}

func parseSettings(data []byte) (settings, error) {
	var s settings
	if err := strict.YAML(data, &s); err != nil {
		return nil, err
	}
	if s == nil {
		return nil, errors.New("expected settings of an environment")
	}
	inner, ok := s["environment"]
	if !ok {
		return s, nil
	}
	if len(s) > 1 {
		return nil, errors.New(`expected nothing beside "environment"`)
	}
	if err := strict.JSON(inner, &s); err != nil {
		return nil, fmt.Errorf("environment: %w", err)
	}
	delete(s, "environment")
	if err := translate(s); err != nil {
		return nil, fmt.Errorf("environment: %w", err)
	}
	return s, nil
}

// fileImage is "image" in the file form.
type fileImage struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// fileResources is "resources" in the file form.
type fileResources struct {
	CPUCount float64 `json:"cpuCount"`
	MemoryMB int64   `json:"memoryMB"`
}

// milli is thousandths of a processor.
const milli = 1000

// translate turns the names of the file form into those of the API (ledger
// EV-31, CN-22). What has the API's form already stays.
func translate(s settings) error {
	if isObject(s["image"]) {
		var i fileImage
		if err := strict.JSON(s["image"], &i); err != nil {
			return fmt.Errorf("image: %w", err)
		}
		if i.Kind != "preset" {
			return fmt.Errorf("image.kind: is %q; the service's own images are of the kind preset", i.Kind)
		}
		if err := s.set("image", i.Name); err != nil {
			return err
		}
	}
	var names map[string]json.RawMessage
	if isObject(s["resources"]) {
		if err := strict.JSON(s["resources"], &names); err != nil {
			return fmt.Errorf("resources: %w", err)
		}
	}
	if names["cpuCount"] != nil || names["memoryMB"] != nil {
		var r fileResources
		if err := strict.JSON(s["resources"], &r); err != nil {
			return fmt.Errorf("resources: %w", err)
		}
		cpu := int64(r.CPUCount * milli)
		if float64(cpu) != r.CPUCount*milli {
			return fmt.Errorf("resources.cpuCount: %v has more than thousandths", r.CPUCount)
		}
		if err := s.set("resources", resourcesBody{cpu, r.MemoryMB}); err != nil {
			return err
		}
	}
	if setup := bytes.TrimSpace(s["setup"]); len(setup) > 0 && setup[0] == '[' {
		if s["boot_setup"] != nil {
			return errors.New("setup: a list is boot_setup, which is there too")
		}
		s["boot_setup"] = setup
		delete(s, "setup")
	}
	if s["provider"] == nil {
		return s.set("provider", defaultProvider)
	}
	return nil
}

func isObject(data json.RawMessage) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && data[0] == '{'
}

// resourcesBody is "resources" of the API.
type resourcesBody struct {
	CPUMilli  int64 `json:"cpu_milli,omitempty"`
	MemoryMiB int64 `json:"memory_mib,omitempty"`
}

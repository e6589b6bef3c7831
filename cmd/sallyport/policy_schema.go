package main

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/policy/schema"
)

func newPolicySchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [policy|fixtures|edge]",
		Short: "Print a JSON Schema for editors",
		Long: `Print a JSON Schema for editors to complete and check a file while it is typed:
of a policy (the default), of fixtures for "policy test", or of the edge's
configuration. The schema is for comfort; "policy check" and "edge check" are
the ones that know.`,
		Example: `  sallyport policy schema > policy.schema.json
  # first line of policy.yaml, for editors with the YAML language server:
  # yaml-language-server: $schema=policy.schema.json`,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"policy", "fixtures", "edge"},
		RunE: func(cmd *cobra.Command, args []string) error {
			text := schema.Policy
			if len(args) == 1 && args[0] == "fixtures" {
				text = schema.Fixtures
			}
			if len(args) == 1 && args[0] == "edge" {
				return printJSON(cmd.OutOrStdout(), edgeSchema())
			}
			_, err := cmd.OutOrStdout().Write(text)
			return err
		},
	}
}

// edgeSchema describes the edge's configuration as its own types do, so that
// no key is forgotten.
func edgeSchema() map[string]any {
	s := schemaOf(reflect.TypeFor[config.Document]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Configuration of the Sallyport edge"
	s["required"] = []string{"state"}
	boundary := s["properties"].(map[string]any)["boundaries"].(map[string]any)["items"].(map[string]any)
	boundary["required"] = []string{"id"}
	keys := boundary["properties"].(map[string]any)
	binding := schemaOf(reflect.TypeFor[inject.Binding]())
	binding["required"] = []string{"env", "host", "secret"}
	keys["bindings"] = map[string]any{"type": "array", "items": binding}
	// A reference in it is relative to its own resource, which the $id makes it.
	var network map[string]any
	if json.Unmarshal(schema.Policy, &network) == nil {
		network["$id"] = "network_policy"
		keys["network_policy"] = network
	}
	return s
}

// schemaOf describes a Go type as encoding/json writes it.
func schemaOf(t reflect.Type) map[string]any {
	switch t.Kind() { //nolint:exhaustive // the rest is left to the parser
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Uint16:
		return map[string]any{"type": "integer", "minimum": 1, "maximum": 65535}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Slice:
		if t == reflect.TypeFor[json.RawMessage]() {
			return map[string]any{}
		}
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Struct:
		keys := map[string]any{}
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if name != "" && name != "-" {
				keys[name] = schemaOf(t.Field(i).Type)
			}
		}
		return map[string]any{"type": "object", "additionalProperties": false, "properties": keys}
	default:
		return map[string]any{}
	}
}

package api

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/sallyport/sallyport/policy"
)

// policyDocument is a network policy, which package policy reads and writes.
type policyDocument struct{ policy.Document }

// Schema implements huma.SchemaProvider.
func (policyDocument) Schema(r huma.Registry) *huma.Schema {
	return component(r, "NetworkPolicy", func() *huma.Schema { return policySchema(r, false) })
}

// component refers to a schema of its own in the document, which huma has only
// for types that it makes the schema of.
func component(r huma.Registry, name string, schema func() *huma.Schema) *huma.Schema {
	if r.Map()[name] == nil {
		r.Map()[name] = schema()
	}
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

// policySchema describes a policy. That what is neither {} nor has both members
// is refused, a schema of both forms at once can't say.
func policySchema(r huma.Registry, nullable bool) *huma.Schema {
	const most = policy.MaxRules
	maxItems := most
	return &huma.Schema{
		Type: huma.TypeObject, Nullable: nullable, AdditionalProperties: false,
		Description: "Which hosts a sandbox can reach: the first rule that matches a host decides, and a host that none matches is denied. {} allows every host. Otherwise both members are required.",
		Properties: map[string]*huma.Schema{
			"version": {Type: huma.TypeString, Enum: []any{"v1"}},
			"rules":   {Type: huma.TypeArray, MaxItems: &maxItems, Items: component(r, "NetworkRule", ruleSchema)},
		},
	}
}

func ruleSchema() *huma.Schema {
	short, long := 1, policy.MaxHostLen
	object := func(name string, member *huma.Schema) *huma.Schema {
		return &huma.Schema{
			Type: huma.TypeObject, AdditionalProperties: false, Required: []string{name},
			Properties: map[string]*huma.Schema{name: member},
		}
	}
	return &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: false, Required: []string{"match", "action"},
		Properties: map[string]*huma.Schema{
			"match":  object("host_glob", &huma.Schema{Type: huma.TypeString, MinLength: &short, MaxLength: &long}),
			"action": object("type", &huma.Schema{Type: huma.TypeString, Enum: []any{"allow", "deny"}}),
		},
	}
}

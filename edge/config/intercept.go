package config

import (
	"fmt"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/policy"
)

// interception reads which TLS passes as it is.
func (c *Config) interception(d Document) error {
	switch d.Intercept {
	case "", "all":
	case "bound":
		c.InterceptBoundOnly = true
	default:
		return at("intercept", `expected "all" or "bound"`)
	}
	if len(d.NoIntercept) == 0 {
		return nil
	}
	var doc policy.Document
	for i, glob := range d.NoIntercept {
		one := policy.Document{Rules: []policy.Rule{{HostGlob: glob, Action: policy.Allow}}}
		if _, err := policy.Compile(one); err != nil {
			return at(index("no_intercept", i), "%v", err)
		}
		doc.Rules = append(doc.Rules, one.Rules...)
	}
	var err error
	c.NoIntercept, err = policy.Compile(doc)
	if err != nil {
		return at("no_intercept", "%v", err)
	}
	return nil
}

// CheckBindings refuses a boundary that binds a secret to a host that isn't
// intercepted: it could never be injected (ledger ED-19). The error is a
// *[boundary.Error].
func (c *Config) CheckBindings(spec boundary.Spec) error {
	if c.NoIntercept == nil {
		return nil
	}
	for i, b := range spec.Bindings {
		host, err := policy.CanonicalHost(b.Host)
		if err == nil && c.NoIntercept.Decide(host).Action == policy.Allow {
			return &boundary.Error{
				Path: fmt.Sprintf("bindings[%d].host", i),
				Msg:  fmt.Sprintf("%s is in no_intercept, so no secret can be written there", host),
			}
		}
	}
	return nil
}

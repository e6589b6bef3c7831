// Package provider is the contract between sandboxd and whatever isolates a
// sandbox.
package provider

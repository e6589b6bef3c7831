package config

import "encoding/json"

// document is the file as it is written.
type document struct {
	State      string             `json:"state"`
	Audit      string             `json:"audit,omitempty"`
	User       string             `json:"user,omitempty"`
	Listen     listenDocument     `json:"listen"`
	Upstream   upstreamDocument   `json:"upstream"`
	Timeouts   timeoutsDocument   `json:"timeouts"`
	Boundaries []boundaryDocument `json:"boundaries,omitempty"`
}

type listenDocument struct {
	Proxy   string `json:"proxy,omitempty"`
	Control string `json:"control,omitempty"`
}

type upstreamDocument struct {
	AllowCIDRs []string          `json:"allow_cidrs,omitempty"`
	Resolve    map[string]string `json:"resolve,omitempty"`
	ExtraRoots []string          `json:"extra_roots,omitempty"`
	// Pointers, so that what isn't written differs from an empty list and false.
	DeniedPorts   *[]uint16 `json:"denied_ports,omitempty"`
	OpaqueConnect *bool     `json:"opaque_connect,omitempty"`
}

// timeoutsDocument has durations as time.ParseDuration reads them.
type timeoutsDocument struct {
	Header         string `json:"header,omitempty"`
	Handshake      string `json:"handshake,omitempty"`
	Dial           string `json:"dial,omitempty"`
	ResponseHeader string `json:"response_header,omitempty"`
	Idle           string `json:"idle,omitempty"`
}

type boundaryDocument struct {
	ID            string            `json:"id"`
	TokenFile     string            `json:"token_file,omitempty"`
	NetworkPolicy json.RawMessage   `json:"network_policy,omitempty"` // of policy.Parse
	Bindings      json.RawMessage   `json:"bindings,omitempty"`       // of inject.ParseBindings
	Labels        map[string]string `json:"labels,omitempty"`
}

package config

import (
	"encoding/json"

	"github.com/sallyport/sallyport/broker"
	"github.com/sallyport/sallyport/edge/boundary"
)

// Document is the file as it is written, for whoever writes one: encoded as
// JSON it is what [Load] reads.
type Document struct {
	State    string           `json:"state"`
	Audit    string           `json:"audit,omitempty"`
	User     string           `json:"user,omitempty"`
	Listen   DocumentListen   `json:"listen"`
	Upstream DocumentUpstream `json:"upstream"`
	Sources  DocumentSources  `json:"sources,omitzero"`
	Timeouts DocumentTimeouts `json:"timeouts"`
	Limits   DocumentLimits   `json:"limits,omitzero"`
	Tracing  *DocumentTracing `json:"tracing,omitempty"`
	// Intercept is "all" (the default) or "bound": only what has a binding.
	Intercept   string   `json:"intercept,omitempty"`
	NoIntercept []string `json:"no_intercept,omitempty"` // globs of hosts
	// Issuers are who mints git credentials, by the name that grants use.
	Issuers    map[string]DocumentIssuer `json:"issuers,omitempty"`
	Boundaries []DocumentBoundary        `json:"boundaries,omitempty"`
}

// DocumentListen is the key "listen".
type DocumentListen struct {
	Proxy   string `json:"proxy,omitempty"`
	Control string `json:"control,omitempty"`
	Metrics string `json:"metrics,omitempty"`
}

// DocumentUpstream is the key "upstream". Pointers tell what isn't written
// from an empty list and from false.
type DocumentUpstream struct {
	AllowCIDRs    []string          `json:"allow_cidrs,omitempty"`
	Resolve       map[string]string `json:"resolve,omitempty"`
	ExtraRoots    []string          `json:"extra_roots,omitempty"`
	DeniedPorts   *[]uint16         `json:"denied_ports,omitempty"`
	OpaqueConnect *bool             `json:"opaque_connect,omitempty"`
	Proxy         string            `json:"proxy,omitempty"`
	// ProxyCredentialsFile holds USER:PASSWORD.
	ProxyCredentialsFile string `json:"proxy_credentials_file,omitempty"`
}

// DocumentLimits is the key "limits": of boundaries that have none of their
// own, and of all together.
type DocumentLimits struct {
	AllTunnels int `json:"all_tunnels,omitempty"`
	boundary.Limits
}

// DocumentTracing is the key "tracing".
type DocumentTracing struct {
	Endpoint string   `json:"endpoint"`
	Sample   *float64 `json:"sample,omitempty"`
}

// DocumentSources is the key "sources".
type DocumentSources struct {
	// StaleFor is a duration; empty is the same as "0s".
	StaleFor string         `json:"stale_for,omitempty"`
	Vault    *DocumentVault `json:"vault,omitempty"`
}

// DocumentVault is the key "sources.vault".
type DocumentVault struct {
	Address        string            `json:"address"`
	Namespace      string            `json:"namespace,omitempty"`
	CAFile         string            `json:"ca_file,omitempty"`
	CertFile       string            `json:"cert_file,omitempty"`
	KeyFile        string            `json:"key_file,omitempty"`
	ServerName     string            `json:"server_name,omitempty"`
	RedirectHosts  []string          `json:"redirect_hosts,omitempty"`
	BoundaryTokens bool              `json:"boundary_tokens,omitempty"`
	Auth           DocumentVaultAuth `json:"auth"`
}

// DocumentVaultAuth is the key "sources.vault.auth". It names files: a
// configuration holds no secret.
type DocumentVaultAuth struct {
	Method          string `json:"method"`
	Mount           string `json:"mount,omitempty"`
	TokenFile       string `json:"token_file,omitempty"`
	Role            string `json:"role,omitempty"`
	JWTFile         string `json:"jwt_file,omitempty"`
	RoleID          string `json:"role_id,omitempty"`
	SecretIDFile    string `json:"secret_id_file,omitempty"`
	SecretIDWrapped bool   `json:"secret_id_wrapped,omitempty"`
}

// DocumentTimeouts is the key "timeouts", durations as time.ParseDuration
// reads them.
type DocumentTimeouts struct {
	Header         string `json:"header,omitempty"`
	Handshake      string `json:"handshake,omitempty"`
	Dial           string `json:"dial,omitempty"`
	ResponseHeader string `json:"response_header,omitempty"`
	Idle           string `json:"idle,omitempty"`
	Drain          string `json:"drain,omitempty"`
}

// DocumentBoundary is one of the key "boundaries".
type DocumentBoundary struct {
	ID            string            `json:"id"`
	TokenFile     string            `json:"token_file,omitempty"`
	NetworkPolicy json.RawMessage   `json:"network_policy,omitempty"` // of policy.Parse
	Bindings      json.RawMessage   `json:"bindings,omitempty"`       // of inject.ParseBindings
	Git           []broker.Grant    `json:"git,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`
	Limits        boundary.Limits   `json:"limits,omitzero"`
	Observe       bool              `json:"observe,omitempty"`
}

package config

import "net/url"

// Tracing is the key "tracing": where a span of each crossing is sent.
type Tracing struct {
	Endpoint string  // URL, of OTLP over HTTP
	Sample   float64 // share of the crossings that aren't refused; above 0, up to 1
}

// tracesPath is where collectors take traces, unless the endpoint has a path.
const tracesPath = "/v1/traces"

func parseTracing(d *DocumentTracing) (*Tracing, error) {
	if d == nil {
		return nil, nil //nolint:nilnil // not written: no tracing
	}
	u, err := url.Parse(d.Endpoint)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, at("tracing.endpoint", `expected a URL such as "https://collector.example.com:4318"`)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = tracesPath
	}
	t := &Tracing{Endpoint: u.String(), Sample: 1}
	if d.Sample != nil {
		t.Sample = *d.Sample
	}
	if !(t.Sample > 0 && t.Sample <= 1) {
		return nil, at("tracing.sample", "expected a share above 0, up to 1")
	}
	return t, nil
}

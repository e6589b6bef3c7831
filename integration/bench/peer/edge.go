package peer

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/edge/control"
	"github.com/sallyport/sallyport/inject"
	"github.com/sallyport/sallyport/integration/bench/load"
	"github.com/sallyport/sallyport/policy"
)

// SplicedHost is a name whose TLS the edge lets through as it is.
const SplicedHost = "pinned." + load.Domain

const (
	edgeBoundary = "bench"
	edgeToken    = "token-of-the-benchmark"
	edgeVariable = "BENCH_TOKEN"
	edgeSecret   = "token"
)

// EdgeOptions say how much an edge has to deal with.
type EdgeOptions struct {
	Name       string
	Rules      int // of the policy; the last one counts
	Boundaries int // open at the same time
	Hosts      int // that can be reached, besides the two
	Spliced    bool
}

// Edge starts the product's edge as it is installed: with its audit log, its
// metrics, a policy and a binding for the host that is asked.
func (w *World) Edge(o EdgeOptions) (*load.Target, error) {
	dir, err := os.MkdirTemp(w.dir, "edge-")
	if err != nil {
		return nil, err
	}
	if err := w.edgeFiles(dir, o); err != nil {
		return nil, err
	}
	var at struct{ Proxy, Control string }
	pid, err := w.start(&at, true, w.opts.Edge, "serve", "--config", filepath.Join(dir, "edge.yaml"), "--until-stdin-closes", "--log-level", "error")
	if err != nil {
		return nil, err
	}
	client := control.NewClient(at.Control)
	ctx := context.Background()
	ca, err := client.Trust(ctx)
	if err != nil {
		return nil, err
	}
	w.roots.AppendCertsFromPEM([]byte(ca))
	if err := client.SetSecret(ctx, edgeSecret, []byte(Secret)); err != nil {
		return nil, err
	}
	env, err := client.Env(ctx, edgeBoundary)
	if err != nil {
		return nil, err
	}
	for i := range o.Boundaries - 1 {
		spec := boundary.Spec{ID: fmt.Sprint("other-", i), NetworkPolicy: edgePolicy(o.Rules)}
		if _, err := client.Open(ctx, spec); err != nil {
			return nil, fmt.Errorf("open boundary %d: %w", i, err)
		}
	}
	t := w.target(o.Name, at.Proxy, pid)
	t.Credentials = "Basic " + base64.StdEncoding.EncodeToString([]byte(edgeBoundary+":"+edgeToken))
	t.Authorization = "Bearer " + env[edgeVariable]
	return t, nil
}

// edgePolicy allows what is asked for in its last rule.
func edgePolicy(rules int) policy.Document {
	var d policy.Document
	for i := range rules - 1 {
		d.Rules = append(d.Rules, policy.Rule{HostGlob: fmt.Sprintf("*.service-%d.example.com", i), Action: policy.Allow})
	}
	d.Rules = append(d.Rules, policy.Rule{HostGlob: "*." + load.Domain, Action: policy.Allow})
	return d
}

func (w *World) edgeFiles(dir string, o EdgeOptions) error {
	_, port, err := net.SplitHostPort(w.base.Origin)
	if err != nil {
		return err
	}
	_, plainPort, err := net.SplitHostPort(w.base.PlainOrigin)
	if err != nil {
		return err
	}
	pins := map[string]string{
		net.JoinHostPort(load.Host, port):      w.base.Origin,
		net.JoinHostPort(load.Host, plainPort): w.base.PlainOrigin,
		net.JoinHostPort(SplicedHost, port):    w.base.Origin,
	}
	for i := range o.Hosts {
		pins[net.JoinHostPort(fmt.Sprintf("h%d.%s", i, load.Domain), port)] = w.base.Origin
	}
	rules, err := json.Marshal(edgePolicy(o.Rules))
	if err != nil {
		return err
	}
	number, err := net.LookupPort("tcp", port)
	if err != nil {
		return err
	}
	bindings, err := json.Marshal([]inject.Binding{{
		Env: edgeVariable, Host: load.Host, Port: uint16(number), Secret: "memory:" + edgeSecret, //nolint:gosec // a port
	}})
	if err != nil {
		return err
	}
	d := config.Document{
		State:    "state",
		Listen:   config.DocumentListen{Proxy: "127.0.0.1:0", Control: "control", Metrics: "127.0.0.1:0"},
		Upstream: config.DocumentUpstream{Resolve: pins, ExtraRoots: []string{w.path("origin.pem")}},
		Boundaries: []config.DocumentBoundary{{
			ID: edgeBoundary, TokenFile: "token", NetworkPolicy: rules, Bindings: bindings,
		}},
	}
	if o.Spliced {
		d.NoIntercept = []string{SplicedHost}
	}
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return writeAll(dir, map[string]string{"edge.yaml": string(text), "token": edgeToken})
}

func writeAll(dir string, files map[string]string) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.TrimSpace(text)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Package boundaries opens the way out of sandboxes at an edge, over its control
// socket. It stands apart from package setup so that nothing else of sandboxd
// links the edge's client.
//
// Security promise: it asks the edge for what it is told and nothing more, and
// holds no secret.
package boundaries

import (
	"context"
	"fmt"
	"maps"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/control"
	"github.com/sallyport/sallyport/sandboxd/provider"
	"github.com/sallyport/sallyport/sandboxd/setup"
)

// Edge opens boundaries at an edge. Client and Trust are required.
type Edge struct {
	Client *control.Client
	// Trust returns what makes a sandbox of an image trust the certificate ca
	// (PEM) and use the proxy at a URL: files by path, and variables.
	Trust func(ca string, image provider.Image, proxyURL string) (map[string][]byte, map[string]string, error)
}

var _ setup.Boundaries = Edge{}

// Open opens a boundary on the network's sockets.
func (e Edge) Open(ctx context.Context, b setup.Boundary) (setup.Access, error) {
	ca, err := e.Client.Trust(ctx)
	if err != nil {
		return setup.Access{}, fmt.Errorf("open boundary: %w", err)
	}
	files, env, err := e.Trust(ca, b.Image, b.Network.ProxyURL())
	if err != nil {
		return setup.Access{}, fmt.Errorf("open boundary: %w", err)
	}
	var listeners []control.Listener
	for _, l := range b.Network.Listeners() {
		listeners = append(listeners, control.Listener{Kind: control.ListenerKind(l.Kind), Socket: l.Socket})
	}
	placeholders, err := e.Client.Open(ctx, boundary.Spec{ID: b.ID, NetworkPolicy: b.Policy, Labels: b.Labels}, listeners...)
	if err != nil {
		return setup.Access{}, fmt.Errorf("open boundary: %w", err)
	}
	a := setup.Access{Env: env, Files: make(map[string]provider.File)}
	if a.Env == nil {
		a.Env = make(map[string]string)
	}
	for _, p := range placeholders {
		a.Secrets = append(a.Secrets, p)
	}
	maps.Copy(a.Env, placeholders)
	for name, data := range files {
		a.Files[name] = provider.File{Data: data, Mode: 0o644}
	}
	return a, nil
}

// Close closes a boundary.
func (e Edge) Close(ctx context.Context, id string) error {
	if err := e.Client.Close(ctx, id); err != nil && !control.IsNotFound(err) {
		return fmt.Errorf("close boundary: %w", err)
	}
	return nil
}

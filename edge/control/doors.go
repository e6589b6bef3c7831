package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
)

// Fronts serves the sockets of one boundary. Each method blocks until ctx is
// done or its socket is closed, and joins what it started. *edge.Edge is one.
type Fronts interface {
	ServeProxy(ctx context.Context, ln net.Listener, boundaryID string) error
	ServeTransparent(ctx context.Context, ln net.Listener, boundaryID string) error
	ServeDNS(ctx context.Context, conn *net.UDPConn, boundaryID string) error
	ServeBroker(ctx context.Context, ln net.Listener, boundaryID string) error
}

// door is one socket of a boundary: what closes it, and what serves it.
type door struct {
	io.Closer
	kind  ListenerKind
	serve func(ctx context.Context, boundaryID string) error
}

// doors are the sockets of one boundary while they are served.
type doors struct {
	cancel  context.CancelFunc
	all     []door
	serving sync.WaitGroup
}

// newDoors makes a door of each descriptor. The descriptors stay the caller's.
func newDoors(fronts Fronts, kinds []ListenerKind, files []*os.File) (_ []door, err error) {
	if len(kinds) != len(files) {
		return nil, fmt.Errorf("listeners: %d are named, %d descriptors arrived", len(kinds), len(files))
	}
	var made []door
	defer func() {
		if err != nil {
			for _, d := range made {
				d.Close()
			}
		}
	}()
	for i, kind := range kinds {
		d, err := newDoor(fronts, kind, files[i])
		if err != nil {
			return nil, fmt.Errorf("listeners[%d]: %w", i, err)
		}
		made = append(made, d)
	}
	return made, nil
}

func newDoor(fronts Fronts, kind ListenerKind, f *os.File) (door, error) {
	switch kind {
	case ListenProxy, ListenTransparent, ListenBroker:
		ln, err := asListener(f, kind)
		if err != nil {
			return door{}, err
		}
		serve := map[ListenerKind]func(context.Context, net.Listener, string) error{
			ListenProxy: fronts.ServeProxy, ListenTransparent: fronts.ServeTransparent, ListenBroker: fronts.ServeBroker,
		}[kind]
		return door{ln, kind, func(ctx context.Context, id string) error { return serve(ctx, ln, id) }}, nil
	case ListenDNS:
		conn, err := asPacketConn(f)
		if err != nil {
			return door{}, err
		}
		return door{conn, kind, func(ctx context.Context, id string) error { return fronts.ServeDNS(ctx, conn, id) }}, nil
	default:
		return door{}, fmt.Errorf("expected %q, %q, %q or %q, found %.40q", ListenProxy, ListenTransparent, ListenDNS, ListenBroker, kind)
	}
}

// openDoors starts to serve the sockets of the boundary named id.
func openDoors(ctx context.Context, all []door, id string, log *slog.Logger) *doors {
	ctx, cancel := context.WithCancel(ctx)
	d := &doors{cancel: cancel, all: all}
	for _, one := range all {
		d.serving.Go(func() {
			err := one.serve(ctx, id)
			if err != nil && ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
				log.Error("listener of boundary failed", "boundary", id, "listener", one.kind, "error", err)
			}
		})
	}
	return d
}

// close stops to serve, closes the sockets and waits for what served them. It
// may be called on nil.
func (d *doors) close() {
	if d == nil {
		return
	}
	d.cancel()
	for _, one := range d.all {
		one.Close()
	}
	d.serving.Wait()
}

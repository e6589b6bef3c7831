package main

import (
	"context"
	"fmt"
	"net"

	"github.com/sallyport/sallyport/edge"
)

// fronts is an edge that answers no DNS query, so that a sandbox resolves
// nothing by itself: its clients reach hosts through the proxy.
type fronts struct{ *edge.Edge }

// ServeDNS drops every query until ctx is done.
func (fronts) ServeDNS(ctx context.Context, conn *net.UDPConn, _ string) error {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	buf := make([]byte, 1)
	for {
		if _, _, err := conn.ReadFromUDP(buf); err != nil && ctx.Err() == nil {
			return fmt.Errorf("read query: %w", err)
		} else if err != nil {
			return nil
		}
	}
}

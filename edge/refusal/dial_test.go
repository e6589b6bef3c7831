package refusal_test

import (
	"context"
	"net"
)

func countDials(n *int) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		*n++
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
}

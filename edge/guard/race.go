package guard

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
)

// stagger is how long an attempt has before the next one starts beside it
// (RFC 8305 §5).
const stagger = 250 * time.Millisecond

// maxTargets bounds how many addresses one request is tried at. Whoever owns a
// name can list thousands, of other people's machines.
const maxTargets = 16

// race dials the targets in turn, the next one when the last has failed or has
// kept us waiting, and returns the first connection. The others are given up.
func race(ctx context.Context, targets []netip.AddrPort, dial func(context.Context, netip.AddrPort) (net.Conn, error)) (net.Conn, error) {
	targets = interleave(targets)
	targets = targets[:min(len(targets), maxTargets)]
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result) // unbuffered: a result is taken, or its connection closed
	next := time.NewTimer(0)
	defer next.Stop()
	started, pending := 0, 0
	var errs []error
	for {
		select {
		case <-next.C:
			if started == len(targets) {
				continue
			}
			to := targets[started]
			started, pending = started+1, pending+1
			go func() {
				conn, err := dial(ctx, to)
				select {
				case results <- result{conn, err}:
				case <-ctx.Done():
					if conn != nil {
						conn.Close()
					}
				}
			}()
			next.Reset(stagger)
		case r := <-results:
			if r.err == nil {
				return r.conn, nil
			}
			errs = append(errs, r.err)
			pending--
			if pending == 0 && started == len(targets) {
				return nil, errors.Join(append(errs, ctx.Err())...)
			}
			next.Reset(0)
		case <-ctx.Done():
			return nil, errors.Join(append(errs, ctx.Err())...)
		}
	}
}

// interleave alternates between the families, beginning with that of the first
// target and keeping the resolver's order within each (RFC 8305 §4).
func interleave(targets []netip.AddrPort) []netip.AddrPort {
	var same, other []netip.AddrPort
	for _, t := range targets {
		if t.Addr().Is4() == targets[0].Addr().Is4() {
			same = append(same, t)
		} else {
			other = append(other, t)
		}
	}
	out := make([]netip.AddrPort, 0, len(targets))
	for i := range max(len(same), len(other)) {
		if i < len(same) {
			out = append(out, same[i])
		}
		if i < len(other) {
			out = append(out, other[i])
		}
	}
	return out
}

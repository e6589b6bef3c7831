package names

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/net/ipv4"
)

// tcpIdle is how long a TCP connection may wait for the next query (RFC 7766
// §6.2.3 suggests seconds).
const tcpIdle = 10 * time.Second

// longAgo, as a deadline, wakes whoever waits on a connection.
var longAgo = time.Unix(1, 0)

// ServeUDP answers queries that arrive at conn until ctx ends or conn is
// closed; it then returns nil. It doesn't close conn. Queries are answered one
// by one, so a flood costs the sandbox its own DNS and nothing else.
//
// Each answer leaves from the address that the query was sent to, whatever
// conn is bound to: in a sandbox every address is local, and a client takes no
// answer from another.
func (s *Server) ServeUDP(ctx context.Context, conn *net.UDPConn) error {
	if err := ipv4.NewPacketConn(conn).SetControlMessage(ipv4.FlagDst|ipv4.FlagInterface, true); err != nil {
		return fmt.Errorf("ask for destination addresses of queries: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(longAgo) })
	defer stop()
	buf := make([]byte, dns.MaxMsgSize)
	for {
		n, session, err := dns.ReadFromSessionUDP(conn, buf)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("read query: %w", err)
		}
		if s.limit.Wait(ctx) != nil {
			return nil // ctx has ended
		}
		if answer := s.Answer(buf[:n]); answer != nil {
			// A client that can't be reached asks again, or has gone.
			_, _ = dns.WriteToSessionUDP(conn, answer, session)
		}
	}
}

// ServeTCPConn answers the queries of one connection, in order, until the
// client ends it, is silent for too long, or ctx ends. It closes conn. The
// error says what went wrong on the connection; it is nil for a client that
// ended between two queries.
func (s *Server) ServeTCPConn(ctx context.Context, conn net.Conn) error {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	for {
		if err := conn.SetDeadline(time.Now().Add(tcpIdle)); err != nil {
			return ended(ctx, err)
		}
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return ended(ctx, err)
		}
		msg := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, msg); err != nil {
			return ended(ctx, err)
		}
		if s.limit.Wait(ctx) != nil {
			return nil // ctx has ended
		}
		answer := s.Answer(msg)
		if answer == nil {
			return nil
		}
		framed := binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(answer)), uint16(len(answer)))
		if _, err := conn.Write(append(framed, answer...)); err != nil {
			return ended(ctx, err)
		}
	}
}

// ended returns nil for the ways in which a connection may end.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("serve DNS over TCP: %w", err)
	}
	return nil
}

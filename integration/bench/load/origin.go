package load

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// Paths of the origin.
const (
	pathSmall = "/small"
	pathDown  = "/down/" // followed by MiB
	pathUp    = "/up"
)

// ServeOrigin answers over TLS on secure, with HTTP/2 where it is asked for,
// and in cleartext on plain, until a listener fails.
func ServeOrigin(secure, plain net.Listener, cfg *tls.Config) error {
	cfg = cfg.Clone()
	cfg.NextProtos = []string{"h2", "http/1.1"}
	two := &handed{Listener: secure, conns: make(chan net.Conn)}
	srv := &http.Server{
		Handler:           http.HandlerFunc(serveOrigin2),
		ReadHeaderTimeout: patience,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 1000},
	}
	ended := make(chan error, 3)
	go func() { ended <- srv.Serve(two) }()
	go func() { ended <- accept(plain, serveOrigin1) }()
	go func() {
		ended <- accept(secure, func(raw net.Conn) {
			c := tls.Server(raw, cfg)
			if c.Handshake() != nil {
				c.Close()
				return
			}
			if c.ConnectionState().NegotiatedProtocol == "h2" {
				two.conns <- c
				return
			}
			serveOrigin1(c)
		})
	}()
	return <-ended
}

// handed is a listener of connections that were accepted elsewhere.
type handed struct {
	net.Listener
	conns chan net.Conn
}

func (h *handed) Accept() (net.Conn, error) { return <-h.conns, nil }

func accept(ln net.Listener, serve func(net.Conn)) error {
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		go serve(c)
	}
}

// serveOrigin1 is HTTP/1.1.
func serveOrigin1(c net.Conn) {
	defer c.Close()
	br, bw := bufio.NewReader(c), bufio.NewWriter(c)
	var m message
	var buf []byte
	for {
		if m.read(br) != nil {
			return
		}
		_, rest, _ := bytes.Cut(m.first, []byte(" "))
		target, _, _ := bytes.Cut(rest, []byte(" "))
		body, times := answer(string(target))
		proof, last := Proof(string(m.authorization)), m.close
		if m.length > 0 {
			if buf == nil {
				buf = make([]byte, 128<<10)
			}
			if same(br, m.length, piece, buf, nil) != nil {
				return
			}
		}
		fmt.Fprintf(bw, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Proof: %s\r\nContent-Length: %d\r\n\r\n", proof, len(body)*times)
		for range times {
			if _, err := bw.Write(body); err != nil {
				return
			}
		}
		if bw.Flush() != nil || last {
			return
		}
	}
}

// serveOrigin2 is HTTP/2.
func serveOrigin2(w http.ResponseWriter, r *http.Request) {
	body, times := answer(r.URL.Path)
	if r.ContentLength > 0 && same(r.Body, r.ContentLength, piece, make([]byte, 128<<10), nil) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Proof", Proof(r.Header.Get("Authorization")))
	h.Set("Content-Length", strconv.Itoa(len(body)*times))
	for range times {
		if _, err := w.Write(body); err != nil {
			return
		}
	}
}

// answer returns a body and how many times over it is sent.
func answer(target string) ([]byte, int) {
	if n, ok := strings.CutPrefix(target, pathDown); ok {
		times, _ := strconv.Atoi(n)
		return piece, times
	}
	return small, 1
}

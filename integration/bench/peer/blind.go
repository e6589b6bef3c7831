package peer

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/sallyport/sallyport/integration/bench/load"
)

// Blind starts a tunnel that looks at nothing: what interception costs is
// measured against it. It copies in user space with a buffer for each
// direction, as a proxy without splice(2) does.
func (w *World) Blind() (*load.Target, error) {
	var at proxyReady
	pid, err := w.self(&at, "blind", w.base.Origin, w.base.PlainOrigin)
	if err != nil {
		return nil, err
	}
	return w.target("blind", at.Addr, pid), nil
}

func serveBlind(origin, _ string) error {
	ln, err := listen()
	if err != nil {
		return err
	}
	if err := ready(proxyReady{ln.Addr().String()}); err != nil {
		return err
	}
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		go blindTunnel(c, origin)
	}
}

func blindTunnel(client net.Conn, origin string) {
	defer client.Close()
	br := bufio.NewReader(client)
	r, err := http.ReadRequest(br)
	if err != nil || r.Method != http.MethodConnect || br.Buffered() > 0 {
		return
	}
	up, err := net.Dial("tcp", origin)
	if err != nil {
		return
	}
	defer up.Close()
	if _, err := io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { blindCopy(up, client) })
	blindCopy(client, up)
	wg.Wait()
}

func blindCopy(dst, src net.Conn) {
	buf := make([]byte, 32<<10)
	// Neither end may show the other: then the kernel would copy.
	_, _ = io.CopyBuffer(struct{ io.Writer }{dst}, struct{ io.Reader }{src}, buf)
	_ = dst.(*net.TCPConn).CloseWrite()
}

package soak_test

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// tunnel opens a tunnel with TLS inside.
func (e *edgeProcess) tunnel(host string) (*tls.Conn, error) {
	c, err := net.DialTimeout("tcp", e.proxy, time.Minute)
	if err != nil {
		return nil, err
	}
	basic := base64.StdEncoding.EncodeToString([]byte("box:" + boxToken))
	fmt.Fprintf(c, "CONNECT %[1]s:443 HTTP/1.1\r\nHost: %[1]s:443\r\nProxy-Authorization: Basic %[2]s\r\n\r\n", host, basic)
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: http.MethodConnect})
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("CONNECT: %s", resp.Status)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	t := tls.Client(c, &tls.Config{RootCAs: e.roots(), ServerName: host})
	if err := t.Handshake(); err != nil {
		c.Close()
		return nil, err
	}
	return t, nil
}

// 5,000 tunnels wait at once, each of them still works afterwards, and none is
// left when they are closed.
func TestIdleTunnels(t *testing.T) {
	count := atLength(300, 5000)
	ca, _, upstream := newOrigin(t)
	e := startEdge(t, ca, upstream)
	first, err := e.tunnel(allowedHost)
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	before := e.rss()
	tunnels := make([]*tls.Conn, count)
	var opening errgroup.Group
	opening.SetLimit(32)
	for i := range tunnels {
		opening.Go(func() (err error) { tunnels[i], err = e.tunnel(allowedHost); return err })
	}
	if err := opening.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := e.gauge("sallyport_edge_tunnels"); int(n) < count {
		t.Errorf("%v tunnels open, want %d", n, count)
	}
	t.Logf("%d idle tunnels: %d KiB each", count, (e.rss()-before)/int64(count)>>10)

	var using errgroup.Group
	using.SetLimit(32)
	for _, c := range tunnels {
		using.Go(func() error {
			defer c.Close()
			if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				return err
			}
			fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", allowedHost)
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, resp.Body)
			return err
		})
	}
	if err := using.Wait(); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(time.Minute); e.gauge("sallyport_edge_tunnels") > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%v tunnels are left", e.gauge("sallyport_edge_tunnels"))
		}
	}
}

// 1,000 streams of events, for ten minutes: each arrives, once and in order.
func TestEventStreams(t *testing.T) {
	streams, length := atLength(50, 1000), atLength(3*time.Second, 10*time.Minute)
	ca, origin, upstream := newOrigin(t)
	origin.Handle("/events", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		end := time.Now().Add(length)
		n := 0
		for ; time.Now().Before(end); n++ {
			fmt.Fprintf(w, "data: %d\n\n", n)
			if http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
		fmt.Fprintf(w, "data: end %d\n\n", n)
	}))
	e := startEdge(t, ca, upstream)
	client := e.client(0)
	var wg sync.WaitGroup
	var events atomic.Int64
	opening := make(chan struct{}, 32)
	for i := range streams {
		wg.Go(func() {
			host := []string{allowedHost, boundHost}[i%2]
			opening <- struct{}{} // a few at a time: handshakes have deadlines
			resp, err := client.Get("https://" + host + "/events")
			<-opening
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			n := 0
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				switch line := lines.Text(); line {
				case "":
				case fmt.Sprintf("data: %d", n):
					n++
				case fmt.Sprintf("data: end %d", n):
					events.Add(int64(n))
					return
				default:
					t.Errorf("stream %d: event %q, want number %d", i, line, n)
					return
				}
			}
			t.Errorf("stream %d ended after %d events", i, n)
		})
	}
	wg.Wait()
	t.Logf("%d streams, %d events", streams, events.Load())
}

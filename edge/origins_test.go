package edge_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
)

// What an origin says beyond the end of a response is nobody's: not even where
// it came in one TLS record with it, so that no socket shows it any more.
func TestSurplusInTheSameRecord(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const size = 12 << 10 // beyond any buffer of ours, within one record
	var conns atomic.Int32
	cfg := &tls.Config{DynamicRecordSizingDisabled: true, NextProtos: []string{"http/1.1"}}
	b.originTLS("www.allowed.test", 443, cfg, func(w http.ResponseWriter, _ *http.Request) {
		conns.Add(1)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		var said bytes.Buffer
		fmt.Fprintf(&said, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", size)
		said.Write(bytes.Repeat([]byte("x"), size))
		said.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")
		_, _ = conn.Write(said.Bytes())
	})
	b.start()
	c := b.client(false)
	for range 3 {
		resp, body := b.get(c, "https://www.allowed.test/")
		if resp.StatusCode != http.StatusOK || len(body) != size {
			t.Errorf("%d, %d bytes: %.40q", resp.StatusCode, len(body), body)
		}
	}
	if n := conns.Load(); n != 3 {
		t.Errorf("%d connections answered 3 requests", n)
	}
}

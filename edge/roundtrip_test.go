package edge_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// An HTTP/1.1 client reaches an origin that has only HTTP/2, whether that says
// so in the handshake or hangs up, and the second time without trying in vain.
//
// Ledger: ED-18
func TestOriginWithoutHTTP1(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		b := newBed(t)
		var refused atomic.Int32
		cfg := &tls.Config{NextProtos: []string{"h2"}}
		cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if strings.Join(hello.SupportedProtos, ",") != "http/1.1" {
				return nil, nil
			}
			refused.Add(1)
			own := cfg.Clone()
			own.GetConfigForClient = nil
			// crypto/tls lets a client with HTTP/1.1 alone in: another name
			// makes it refuse.
			own.NextProtos = []string{"other"}
			if silent {
				own.NextProtos = nil
				own.VerifyConnection = func(tls.ConnectionState) error { return errors.New("no") }
			}
			return own, nil
		}
		b.originTLS("www.allowed.test", 443, cfg, echoHeaders)
		b.start()
		c := b.client(false)
		for range 3 {
			resp, body := b.get(c, originURL)
			if resp.StatusCode != 200 || !strings.HasPrefix(body, "HTTP/2.0 ") {
				t.Errorf("silent %t: %d %q", silent, resp.StatusCode, body)
			}
		}
		if n := refused.Load(); n != 1 && !silent {
			t.Errorf("tried in vain %d times", n)
		}
	}
}

// Whatever an origin says without being asked is never taken for an answer: not
// what comes with one, not what comes later, and no head that can be read in two
// ways.
func TestOriginOutOfStep(t *testing.T) {
	t.Parallel()
	const good = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	const planted = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
	for name, answer := range map[string]string{
		"another":           good + planted,
		"no content":        "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nevil" + planted,
		"two lengths":       "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n" + planted,
		"length and chunks": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + planted,
		"folded":            "HTTP/1.1 200 OK\r\nX: a\r\n Content-Length: 0\r\n\r\n" + planted,
		"bare LF":           "HTTP/1.1 200 OK\nContent-Length: 0\n\n" + planted,
		"switched":          "HTTP/1.1 101 Switching Protocols\r\n\r\n" + planted,
		"odd coding":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n" + planted,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			var asked atomic.Int32
			b.rawOrigin("www.allowed.test", 80, func(c net.Conn) {
				buf := make([]byte, 4096)
				for {
					if _, err := c.Read(buf); err != nil {
						return
					}
					text := good
					if asked.Add(1) == 1 {
						text = answer
					}
					_, _ = io.WriteString(c, text)
				}
			})
			b.start()
			c := b.client(false)
			for i := range 3 {
				resp, body := b.get(c, "http://www.allowed.test/"+fmt.Sprint(i))
				switch {
				case i > 0 && (resp.StatusCode != 200 || body != "ok"),
					strings.Contains(body, "evil"),
					i == 0 && resp.StatusCode != 502 && resp.StatusCode/100 != 2:
					t.Errorf("request %d: %d %q", i, resp.StatusCode, body)
				case i == 0 && resp.StatusCode == http.StatusBadGateway && !strings.Contains(body, "upstream_protocol"):
					t.Errorf("%q", body)
				}
			}
		})
	}
}

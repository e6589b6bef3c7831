package edge_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/sallyport/sallyport/edge"
	"github.com/sallyport/sallyport/edge/boundary"
)

func echoMessages(o *websocket.AcceptOptions) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, o)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			kind, msg, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, msg) != nil {
				return
			}
		}
	}
}

// RFC 7692: the extension is agreed on by both ends, so both must see what the
// other said, and frames with its bit set must pass. A boundary that holds
// secrets has its messages looked through, and does without.
func TestWebSocketCompression(t *testing.T) {
	t.Parallel()
	for _, mode := range []websocket.CompressionMode{websocket.CompressionContextTakeover, websocket.CompressionNoContextTakeover} {
		b := newBed(t)
		b.origin("www.allowed.test", echoMessages(&websocket.AcceptOptions{CompressionMode: mode, Subprotocols: []string{"v2.agree"}}))
		b.put(boundary.Spec{ID: boxID}, defaultPolicy)
		b.start()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		ws, resp, err := websocket.Dial(ctx, "wss://www.allowed.test/", &websocket.DialOptions{
			HTTPClient: b.client(false), CompressionMode: mode, CompressionThreshold: 1, Subprotocols: []string{"v1.agree", "v2.agree"},
		})
		b.must(err)
		if x := resp.Header.Get("Sec-WebSocket-Extensions"); !strings.HasPrefix(x, "permessage-deflate") || ws.Subprotocol() != "v2.agree" {
			t.Errorf("extensions %q, subprotocol %q", x, ws.Subprotocol())
		}
		big := bytes.Repeat([]byte("compressible "), 2000)
		for range 3 {
			b.must(ws.Write(ctx, websocket.MessageText, big))
			if _, msg, err := ws.Read(ctx); err != nil || !bytes.Equal(msg, big) {
				t.Errorf("%d bytes, error %v", len(msg), err)
			}
		}
		b.must(ws.Close(websocket.StatusNormalClosure, ""))
		if r := b.recorded(1)[0]; r.BytesUp == 0 || r.BytesUp > int64(len(big)) {
			t.Errorf("%d bytes up: not compressed", r.BytesUp)
		}
	}
}

// Frames that come in the same packet as the handshake, of either side, aren't
// lost: some clients don't wait for the 101.
func TestWebSocketEarlyFrames(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.rawOrigin("www.allowed.test", 80, func(c net.Conn) {
		br := bufio.NewReader(c)
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n\x81\x05hello",
			base64.StdEncoding.EncodeToString(sum[:]))
		_, _ = io.Copy(c, br) // frames go back as they came
	})
	b.start()
	k := b.dial(b.proxy)
	frame := "\x81\x82\x00\x00\x00\x00hi"
	k.send("GET http://www.allowed.test/ HTTP/1.1\r\nHost: www.allowed.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" + frame)
	resp, err := http.ReadResponse(k.br, nil)
	b.must(err)
	if resp.StatusCode != 101 || resp.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	k.expect("\x81\x05hello" + frame)
}

// What is open but quiet ends by the idle time-out and by no other.
func TestWebSocketIdle(t *testing.T) {
	t.Parallel()
	const short = 100 * time.Millisecond
	b := newBed(t)
	b.opts.Timeouts = edge.Timeouts{Header: short, Handshake: time.Second, Dial: time.Second, ResponseHeader: short, ServerFirst: short, Idle: 8 * short}
	b.originHTTP("www.allowed.test", 80, echoMessages(nil))
	b.start()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, "ws://www.allowed.test/", &websocket.DialOptions{HTTPClient: b.client(false)})
	b.must(err)
	start := time.Now()
	for range 3 {
		time.Sleep(4 * short) // quiet for longer than everything but the idle time
		b.must(ws.Write(ctx, websocket.MessageText, []byte("x")))
		_, _, err := ws.Read(ctx)
		b.must(err)
	}
	if time.Since(start) < 8*short {
		t.Error("the idle time has not passed in all")
	}
	if _, _, err := ws.Read(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("read from a quiet connection: %v; want its end", err)
	}
	b.recorded(1)
}

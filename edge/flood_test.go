package edge_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// flood is an HTTP/2 client that writes whatever frames it likes.
type flood struct {
	*raw
	*http2.Framer
	head []byte        // of a proper request
	gone chan struct{} // closed once the edge has ended the connection
}

// flooding opens an HTTP/2 connection for www.allowed.test. What comes back is
// read and dropped, so that only the edge can end it.
func (b *bed) flooding() *flood {
	b.Helper()
	k, err := b.tls(b.connect("www.allowed.test:443"), &tls.Config{ServerName: "www.allowed.test", NextProtos: []string{"h2"}})
	b.must(err)
	k.send(http2.ClientPreface)
	f := &flood{raw: k, Framer: http2.NewFramer(k.Conn, k.br)}
	f.AllowIllegalWrites = true
	b.must(f.WriteSettings())
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, h := range []hpack.HeaderField{
		{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"}, {Name: ":path", Value: "/"},
		{Name: ":authority", Value: "www.allowed.test"},
	} {
		_ = enc.WriteField(h)
	}
	f.head = block.Bytes()
	f.gone = make(chan struct{})
	go func() { defer close(f.gone); _, _ = io.Copy(io.Discard, k.br) }()
	b.Cleanup(func() { k.Close(); <-f.gone })
	return f
}

func (f *flood) request(id uint32) error {
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: f.head, EndStream: true, EndHeaders: true})
}

// Floods of frames that cost the sender nothing end the connection they came
// on, hold no more memory or requests than a connection may, and concern
// nobody else.
//
// Case: A41
func TestHTTP2Floods(t *testing.T) {
	t.Parallel()
	const frames = 10000 // far more than any bound
	big := bytes.Repeat([]byte{0x00, 0x01, 'x', 0x7f, 0xff, 0x7f}, 1)
	cases := []struct {
		name string
		step func(f *flood, i int) error
		ends bool // the edge must end the connection
	}{
		{"rapid reset", func(f *flood, i int) error {
			id := uint32(2*i + 1)
			if err := f.request(id); err != nil {
				return err
			}
			return f.WriteRSTStream(id, http2.ErrCodeCancel)
		}, false},
		{"continuation", func(f *flood, i int) error {
			if i == 0 {
				return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.head})
			}
			return f.WriteContinuation(1, false, bytes.Repeat([]byte{0x00, 0x01, 'x', 0x01, 'y'}, 20))
		}, true},
		{"empty continuation", func(f *flood, i int) error {
			if i == 0 {
				return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.head})
			}
			return f.WriteContinuation(1, false, nil)
		}, false}, // holds nothing, and can't answer a ping, which ends it
		{"streams", func(f *flood, i int) error { return f.request(uint32(2*i + 1)) }, false},
		{"settings", func(f *flood, i int) error { return f.WriteSettings() }, false},
		{"pings", func(f *flood, i int) error { return f.WritePing(false, [8]byte{1}) }, false},
		{"empty data", func(f *flood, i int) error {
			if i == 0 {
				return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.head, EndHeaders: true})
			}
			return f.WriteData(1, false, nil)
		}, false},
		{"malformed fields", func(f *flood, i int) error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: big, EndStream: true, EndHeaders: true})
		}, true},
		{"window overflow", func(f *flood, i int) error { return f.WriteWindowUpdate(0, 1<<31-1) }, true},
		{"stream of the server", func(f *flood, i int) error { return f.request(uint32(2*i + 2)) }, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t)
			var now, most atomic.Int32
			b.origin("www.allowed.test", func(w http.ResponseWriter, r *http.Request) {
				n := now.Add(1)
				defer now.Add(-1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				if r.URL.Path == "/" {
					<-r.Context().Done()
				}
			})
			b.start()
			before := heap()
			f := b.flooding()
			for i := 0; i < frames && c.step(f, i) == nil; i++ {
			}
			if c.ends {
				select {
				case <-f.gone:
				case <-time.After(10 * time.Second):
					t.Errorf("the connection goes on after %d frames", frames)
				}
			}
			// An edge that holds on to the others' frames would show it here.
			if grown := int64(heap()) - int64(before); grown > 64<<20 {
				t.Errorf("the heap has grown by %d MiB", grown>>20)
			}
			resp, _ := b.get(b.client(true), originURL+"/other")
			if resp.StatusCode != 200 {
				t.Errorf("status %d for somebody else", resp.StatusCode)
			}
			if n := most.Load(); n > 2*128 {
				t.Errorf("%d requests at once at the origin", n)
			}
			f.Close()
			deadline := time.Now().Add(10 * time.Second)
			for now.Load() > 0 && time.Now().Before(deadline) {
				time.Sleep(time.Millisecond) // polls a condition, with a deadline
			}
			if n := now.Load(); n > 0 {
				t.Errorf("%d requests outlive their client", n)
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

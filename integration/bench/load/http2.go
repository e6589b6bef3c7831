package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// window is more than a run ever leaves unanswered.
const window = 1 << 30

// h2conn keeps a number of streams busy on one connection. It reads, checks and
// asks anew on one goroutine, so that a client costs little.
type h2conn struct {
	w     *worker
	fr    *http2.Framer
	out   *bufio.Writer
	dec   *hpack.Decoder
	block []byte // the head of every request
	open  map[uint32]*h2stream
	cur   *h2stream // whose head is being decoded
	next  uint32
	read  int // since the last update of the window
}

type h2stream struct {
	start         time.Time
	status, proof string
	at            int
	bad           bool
}

// streams runs one connection until the scenario is over.
func (w *worker) streams() error {
	c, err := w.open(w.s.name(w.index), "h2", w.t.clientTLS(w.s, "h2"))
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Time{})
	h := &h2conn{w: w, out: bufio.NewWriterSize(c, 16<<10), open: map[uint32]*h2stream{}, next: 1}
	h.fr = http2.NewFramer(h.out, c.br)
	h.fr.SetReuseFrames()
	h.dec = hpack.NewDecoder(4096, h.field)
	h.block = w.requestBlock()
	if err := h.greet(); err != nil {
		return err
	}
	for len(h.open) > 0 {
		if c.br.Buffered() == 0 {
			if err := h.out.Flush(); err != nil {
				return err
			}
		}
		f, err := h.fr.ReadFrame()
		if err != nil {
			return fmt.Errorf("read frame: %w", err)
		}
		if err := h.frame(f); err != nil {
			return err
		}
	}
	return nil
}

func (h *h2conn) greet() error {
	if _, err := h.out.WriteString(http2.ClientPreface); err != nil {
		return err
	}
	err := h.fr.WriteSettings(http2.Setting{ID: http2.SettingEnablePush}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
	if err == nil {
		err = h.fr.WriteWindowUpdate(0, window)
	}
	for range h.w.s.Streams {
		err = errors.Join(err, h.ask())
	}
	return err
}

func (h *h2conn) ask() error {
	h.open[h.next] = &h2stream{start: time.Now()}
	err := h.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: h.next, BlockFragment: h.block, EndStream: true, EndHeaders: true})
	h.next += 2
	return err
}

// requestBlock encodes a head without touching the dynamic table, so that it
// serves for every request.
func (w *worker) requestBlock() []byte {
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	enc.SetMaxDynamicTableSize(0)
	b.Reset()
	name := w.s.name(w.index)
	for _, f := range []hpack.HeaderField{
		{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"},
		{Name: ":path", Value: pathSmall}, {Name: ":authority", Value: net.JoinHostPort(name, w.t.port(false))},
		{Name: "user-agent", Value: "bench/1.0"}, {Name: "accept", Value: "*/*"},
		{Name: "authorization", Value: w.t.Authorization, Sensitive: true},
	} {
		_ = enc.WriteField(f) // a bytes.Buffer takes everything
	}
	return b.Bytes()
}

func (h *h2conn) field(f hpack.HeaderField) {
	switch {
	case h.cur == nil:
	case f.Name == ":status":
		h.cur.status = f.Value
	case f.Name == "x-proof":
		h.cur.proof = f.Value
	}
}

func (h *h2conn) frame(f http2.Frame) error {
	id := f.Header().StreamID
	h.cur = h.open[id]
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			return h.fr.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return h.fr.WritePing(true, f.Data)
		}
	case *http2.HeadersFrame:
		if !f.HeadersEnded() {
			return errors.New("continuation where none is needed")
		}
		if _, err := h.dec.Write(f.HeaderBlockFragment()); err != nil {
			return err
		}
		if f.StreamEnded() {
			return h.finish(id)
		}
	case *http2.DataFrame:
		return h.data(f)
	case *http2.RSTStreamFrame:
		return fmt.Errorf("stream reset: %v", f.ErrCode)
	case *http2.GoAwayFrame:
		return fmt.Errorf("GOAWAY: %v", f.ErrCode)
	}
	return nil
}

func (h *h2conn) data(f *http2.DataFrame) error {
	if h.read += int(f.Length); h.read > window/2 {
		if err := h.fr.WriteWindowUpdate(0, uint32(h.read)); err != nil { //nolint:gosec // below window
			return err
		}
		h.read = 0
	}
	s, data := h.cur, f.Data()
	if s == nil {
		return nil
	}
	if s.at+len(data) > len(small) || !bytes.Equal(data, small[s.at:s.at+len(data)]) {
		s.bad = true
	} else {
		s.at += len(data)
	}
	if f.StreamEnded() {
		return h.finish(f.StreamID)
	}
	return nil
}

// finish checks a response and asks for the next.
func (h *h2conn) finish(id uint32) error {
	s := h.open[id]
	if s == nil {
		return nil
	}
	switch {
	case s.status != "200":
		return fmt.Errorf("status %s", s.status)
	case s.bad || s.at != len(small):
		return errBody
	case h.w.proves() && s.proof != h.w.t.Proof:
		return errProof
	}
	delete(h.open, id)
	h.w.took(s.start)
	if h.w.done.Load() {
		return nil
	}
	return h.ask()
}

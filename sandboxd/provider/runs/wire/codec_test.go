package wire_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/provider/runs/wire"
)

func TestBodiesRoundTrip(t *testing.T) {
	t.Parallel()
	s := &wire.Setup{
		Hostname: "box", Capabilities: 1 << 40, ShmBytes: 1 << 30, OneID: true, Filter: []byte{0, 1, 255},
		Mounts:  []wire.Mount{{Target: "/"}, {Target: "/etc/mime.types", File: true}},
		Entries: []wire.Entry{{Kind: wire.File, Path: "/etc/hosts", Mode: 0o644, ID: 0, Data: []byte("x\x00y")}},
	}
	got, err := wire.ParseSetup(s.Append(nil))
	if err != nil || !reflect.DeepEqual(got, s) {
		t.Errorf("Setup came back as %+v, %v", got, err)
	}
	x := &wire.Exec{Argv: []string{"sh", "-c", ""}, Env: []string{"A=" + strings.Repeat("b", 1<<20)},
		Dir: "/workspace", ID: 1000, TTY: true, Rows: 24, Cols: 80}
	back, err := wire.ParseExec(x.Append(nil))
	if err != nil || !reflect.DeepEqual(back, x) {
		t.Errorf("Exec came back different, %v", err)
	}
}

func TestMessageIsBounded(t *testing.T) {
	t.Parallel()
	long := wire.Message{Kind: wire.KindRefused, ID: 7, Value: 127, Text: strings.Repeat("x", 1<<20)}
	b := long.Append(nil)
	if len(b) > wire.MaxPacket {
		t.Errorf("packet of %d bytes", len(b))
	}
	m, err := wire.ParseMessage(b)
	if err != nil || m.ID != 7 || m.Value != 127 || len(m.Text) != wire.MaxText {
		t.Errorf("got %d %d %d %v", m.ID, m.Value, len(m.Text), err)
	}
	for _, cut := range []int{0, 1, 2, len(b) - 1} {
		if _, err := wire.ParseMessage(b[:cut]); err == nil {
			t.Errorf("%d bytes of %d were accepted", cut, len(b))
		}
	}
	if _, err := wire.ParseMessage(append(b, 0)); err == nil {
		t.Error("a trailing byte was accepted")
	}
}

// FuzzParse: whatever is accepted says the same when it is encoded again.
func FuzzParse(f *testing.F) {
	f.Add(wire.Message{Kind: wire.KindExited, ID: 1, Value: 9, Text: "t"}.Append(nil))
	f.Add((&wire.Exec{Argv: []string{"a"}}).Append(nil))
	f.Add((&wire.Setup{Entries: []wire.Entry{{Kind: wire.Dir, Path: "/a"}}}).Append(nil))
	f.Add([]byte{65, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := wire.ParseMessage(b); err == nil {
			again, err := wire.ParseMessage(m.Append(nil))
			if err != nil || again != m {
				t.Errorf("%+v became %+v, %v", m, again, err)
			}
		}
		if x, err := wire.ParseExec(b); err == nil {
			again, err := wire.ParseExec(x.Append(nil))
			if err != nil || !reflect.DeepEqual(again, x) {
				t.Errorf("%+v became %+v, %v", x, again, err)
			}
		}
		if s, err := wire.ParseSetup(b); err == nil {
			if _, err := wire.ParseSetup(s.Append(nil)); err != nil {
				t.Errorf("%+v: %v", s, err)
			}
		}
	})
}

package wire

import (
	"encoding/binary"
	"errors"
)

// ErrMalformed is returned for bytes that are not what they should be.
var ErrMalformed = errors.New("malformed message")

// Append appends the encoded message to b.
func (m Message) Append(b []byte) []byte {
	text := m.Text
	if len(text) > MaxText {
		text = text[:MaxText]
	}
	e := encoder{b}
	e.byte(byte(m.Kind))
	e.number(uint64(m.ID))
	e.number(uint64(m.Value))
	e.string(text)
	return e.b
}

// ParseMessage decodes one packet.
func ParseMessage(b []byte) (Message, error) {
	d := decoder{b: b}
	m := Message{Kind: Kind(d.byte()), ID: d.uint32(), Value: d.uint32(), Text: d.string()}
	if len(m.Text) > MaxText {
		return Message{}, ErrMalformed
	}
	return m, d.end()
}

// Append appends the encoded body to b.
func (s *Setup) Append(b []byte) []byte {
	e := encoder{b}
	e.string(s.Hostname)
	e.number(uint64(len(s.Mounts)))
	for _, m := range s.Mounts {
		e.string(m.Target)
		e.bool(m.File)
	}
	e.number(uint64(len(s.Entries)))
	for _, n := range s.Entries {
		e.byte(byte(n.Kind))
		e.string(n.Path)
		e.number(uint64(n.Mode))
		e.number(uint64(n.ID))
		e.string(string(n.Data))
	}
	e.string(string(s.Filter))
	e.number(s.Capabilities)
	e.number(s.ShmBytes)
	e.bool(s.OneID)
	return e.b
}

// ParseSetup decodes the body of a KindSetup.
func ParseSetup(b []byte) (*Setup, error) {
	d := decoder{b: b}
	s := &Setup{Hostname: d.string()}
	for range d.count() {
		s.Mounts = append(s.Mounts, Mount{Target: d.string(), File: d.bool()})
	}
	for range d.count() {
		s.Entries = append(s.Entries, Entry{Kind: EntryKind(d.byte()), Path: d.string(),
			Mode: d.uint32(), ID: d.uint32(), Data: []byte(d.string())})
	}
	s.Filter = []byte(d.string())
	s.Capabilities = d.number()
	s.ShmBytes = d.number()
	s.OneID = d.bool()
	return s, d.end()
}

// Append appends the encoded body to b.
func (x *Exec) Append(b []byte) []byte {
	e := encoder{b}
	e.strings(x.Argv)
	e.strings(x.Env)
	e.string(x.Dir)
	e.number(uint64(x.ID))
	e.bool(x.TTY)
	e.number(uint64(x.Rows))
	e.number(uint64(x.Cols))
	return e.b
}

// ParseExec decodes the body of a KindExec.
func ParseExec(b []byte) (*Exec, error) {
	d := decoder{b: b}
	x := &Exec{Argv: d.strings(), Env: d.strings(), Dir: d.string(), ID: d.uint32(), TTY: d.bool(),
		Rows: uint16(d.uint32()), Cols: uint16(d.uint32())}
	return x, d.end()
}

type encoder struct{ b []byte }

func (e *encoder) byte(v byte)     { e.b = append(e.b, v) }
func (e *encoder) number(v uint64) { e.b = binary.AppendUvarint(e.b, v) }

func (e *encoder) bool(v bool) {
	if v {
		e.byte(1)
	} else {
		e.byte(0)
	}
}

func (e *encoder) string(v string) {
	e.number(uint64(len(v)))
	e.b = append(e.b, v...)
}

func (e *encoder) strings(v []string) {
	e.number(uint64(len(v)))
	for _, s := range v {
		e.string(s)
	}
}

// decoder remembers that something was wrong; what it then returns is zero.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) end() error {
	if d.bad || len(d.b) != 0 {
		return ErrMalformed
	}
	return nil
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.bad = true
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *decoder) bool() bool { return d.byte() == 1 }

func (d *decoder) number() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) uint32() uint32 {
	v := d.number()
	if v > 1<<32-1 {
		d.bad = true
	}
	return uint32(v)
}

// count reads a length; each element takes at least one byte.
func (d *decoder) count() int {
	n := d.number()
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return 0
	}
	return int(n)
}

func (d *decoder) string() string {
	n := d.count()
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) strings() []string {
	n := d.count()
	if n == 0 {
		return nil
	}
	s := make([]string, 0, n)
	for range n {
		s = append(s, d.string())
	}
	return s
}

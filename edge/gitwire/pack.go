package gitwire

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // git's object ids
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Types of packed objects (gitformat-pack(5)).
const (
	typeCommit   = 1
	typeOfsDelta = 6
	typeRefDelta = 7
)

// Limits of what is kept and unpacked.
const (
	maxCommit  = 1 << 20   // one commit, or a delta that may make one
	maxKept    = 64 << 20  // all of them
	maxObjects = 5_000_000 // in one pack
	// maxGrowth bounds what a byte of a pack may unpack to, beyond a floor.
	maxGrowth = 200
	freeBytes = 1 << 30
)

// ByteReader is what a pack is read from: never beyond what is asked for.
type ByteReader interface {
	io.Reader
	io.ByteReader
}

// Pack is what a pack tells about the history that it brings.
type Pack struct {
	parents map[string][]string // by commit
}

// packReader reads one pack.
type packReader struct {
	in       *countingReader
	zlib     io.ReadCloser // nil before the first object
	sha256   bool
	commits  map[string][]byte // content by id
	at       map[int64]string  // commit by offset
	pending  []pendingDelta    // whose base hasn't come yet
	kept     int64
	unpacked int64
}

type pendingDelta struct {
	offset int64
	base   string
	delta  []byte
}

// ReadPack reads the objects of a pack and stops before its checksum, with
// which a server takes it for whole. It keeps no more than the commits, of 64
// MiB at most; the content of everything else is only unpacked to find its end.
func ReadPack(r ByteReader, sha256 bool) (*Pack, error) {
	p := &packReader{in: &countingReader{r: r}, sha256: sha256, commits: map[string][]byte{}, at: map[int64]string{}}
	var head [12]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		return nil, fmt.Errorf("read pack: %w", err)
	}
	version, count := binary.BigEndian.Uint32(head[4:]), binary.BigEndian.Uint32(head[8:])
	if string(head[:4]) != "PACK" || version != 2 && version != 3 || count > maxObjects {
		return nil, errors.New("read pack: unknown form, or too many objects")
	}
	for range count {
		if err := p.object(); err != nil {
			return nil, fmt.Errorf("read pack: %w", err)
		}
	}
	p.settle()
	got := &Pack{parents: make(map[string][]string, len(p.commits))}
	for id, content := range p.commits {
		got.parents[id] = parentsOf(content)
	}
	return got, nil
}

// Proves reports whether the pack shows that ancestor is one of the commit's:
// through commits that are all in the pack. That it isn't shown proves nothing.
func (p *Pack) Proves(ancestor, commit string) bool {
	seen := map[string]bool{}
	queue := []string{commit}
	for len(queue) > 0 {
		id := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, parent := range p.parents[id] {
			if parent == ancestor {
				return true
			}
			if !seen[parent] {
				seen[parent] = true
				queue = append(queue, parent)
			}
		}
	}
	return false
}

// object reads one object.
func (p *packReader) object() error {
	offset := p.in.n
	kind, size, err := p.header()
	if err != nil {
		return err
	}
	var base string
	var baseAt int64
	switch kind {
	case typeOfsDelta:
		back, err := p.back()
		if err != nil {
			return err
		}
		if back <= 0 || back > offset {
			return errors.New("delta of what isn't there")
		}
		baseAt = offset - back
		base = p.at[baseAt]
	case typeRefDelta:
		id := make([]byte, p.hashLen())
		if _, err := io.ReadFull(p.in, id); err != nil {
			return err
		}
		base = hex.EncodeToString(id)
	case 0, 5:
		return errors.New("unknown type of object")
	}
	keep := kind == typeCommit || base != ""
	content, err := p.inflate(size, keep && size <= maxCommit)
	if err != nil || content == nil {
		return err
	}
	switch {
	case kind == typeCommit:
		p.commit(offset, content)
	case p.commits[base] != nil:
		p.resolve(offset, p.commits[base], content)
	case kind == typeRefDelta && p.room(len(content)):
		p.pending = append(p.pending, pendingDelta{offset, base, content})
	}
	return nil
}

// settle resolves deltas that came before their base.
func (p *packReader) settle() {
	for again := true; again; {
		again = false
		rest := p.pending[:0]
		for _, d := range p.pending {
			base := p.commits[d.base]
			if base == nil {
				rest = append(rest, d)
				continue
			}
			p.resolve(d.offset, base, d.delta)
			again = true
		}
		p.pending = rest
	}
}

// resolve takes in a commit that is a delta of another. One that can't be
// resolved is missing, and proves nothing.
func (p *packReader) resolve(offset int64, base, delta []byte) {
	if content, err := applyDelta(base, delta); err == nil {
		p.commit(offset, content)
	}
}

func (p *packReader) commit(offset int64, content []byte) {
	if !p.room(len(content)) {
		return
	}
	id := p.id(content)
	p.commits[id] = content
	p.at[offset] = id
}

// room takes n bytes of what may be kept.
func (p *packReader) room(n int) bool {
	if p.kept+int64(n) > maxKept {
		return false
	}
	p.kept += int64(n)
	return true
}

func (p *packReader) hashLen() int {
	if p.sha256 {
		return sha256.Size
	}
	return sha1.Size
}

func (p *packReader) id(content []byte) string {
	object := append(fmt.Appendf(nil, "commit %d\x00", len(content)), content...)
	if p.sha256 {
		sum := sha256.Sum256(object)
		return hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum(object) //nolint:gosec // git's own; a server refuses collisions
	return hex.EncodeToString(sum[:])
}

// header reads the type and size of an object.
func (p *packReader) header() (kind int, size int64, err error) {
	c, err := p.in.ReadByte()
	if err != nil {
		return 0, 0, err
	}
	kind, size = int(c>>4&7), int64(c&15)
	for shift := 4; c&0x80 != 0; shift += 7 {
		if c, err = p.in.ReadByte(); err != nil {
			return 0, 0, err
		}
		if shift > 53 {
			return 0, 0, errors.New("size out of range")
		}
		size |= int64(c&0x7f) << shift
	}
	return kind, size, nil
}

// back reads how far before a delta its base is.
func (p *packReader) back() (int64, error) {
	c, err := p.in.ReadByte()
	if err != nil {
		return 0, err
	}
	n := int64(c & 0x7f)
	for c&0x80 != 0 {
		if c, err = p.in.ReadByte(); err != nil {
			return 0, err
		}
		if n > 1<<50 {
			return 0, errors.New("offset out of range")
		}
		n = (n+1)<<7 | int64(c&0x7f)
	}
	return n, nil
}

// inflate unpacks one object, which must be of the size that its header says.
// The content is nil unless keep.
func (p *packReader) inflate(size int64, keep bool) ([]byte, error) {
	if err := p.open(); err != nil {
		return nil, err
	}
	into := io.Discard
	var kept bytes.Buffer
	if keep {
		into = &kept
	}
	if p.unpacked += size; p.unpacked > freeBytes+maxGrowth*p.in.n {
		return nil, errors.New("it unpacks to more than it should")
	}
	n, err := io.Copy(into, io.LimitReader(p.zlib, size+1))
	switch {
	case err != nil:
		return nil, err
	case n != size:
		return nil, errors.New("object of another size than it says")
	case !keep:
		return nil, nil
	}
	return kept.Bytes(), nil
}

// open begins to unpack what comes next.
func (p *packReader) open() (err error) {
	if p.zlib == nil {
		p.zlib, err = zlib.NewReader(p.in)
		return err
	}
	again, ok := p.zlib.(zlib.Resetter)
	if !ok {
		return errors.New("zlib can't be used again")
	}
	return again.Reset(p.in, nil)
}

// parentsOf returns the parents that a commit names in its head.
func parentsOf(content []byte) []string {
	var parents []string
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		if id, ok := strings.CutPrefix(line, "parent "); ok && isID(id) {
			parents = append(parents, id)
			continue
		}
		if !strings.HasPrefix(line, "tree ") {
			return parents
		}
	}
	return parents
}

// countingReader knows how far a pack has been read.
type countingReader struct {
	r ByteReader
	n int64
}

// Read implements io.Reader.
func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// ReadByte implements io.ByteReader.
func (c *countingReader) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

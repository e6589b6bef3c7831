package boundary

import (
	"crypto/sha256"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport/inject"
)

// Table holds the boundary of each sandbox by id. The zero value is ready for
// use, knows nobody, and so denies everything. It is safe for concurrent use:
// readers see a snapshot and never wait for a writer.
type Table struct {
	snapshot atomic.Pointer[map[string]*Boundary]

	writing    sync.Mutex // serialises writers; guards generation
	generation uint64
	issued     inject.Issued // the placeholders of all that is in the snapshot
}

// Get returns the boundary named id as it is now, or nil if there is none. It
// allocates nothing and takes some ten nanoseconds.
func (t *Table) Get(id string) *Boundary {
	m := t.snapshot.Load()
	if m == nil {
		return nil
	}
	return (*m)[id]
}

// Authenticate returns the boundary that the given proxy credentials prove, or
// nil. An unknown id takes as long as a wrong token does.
func (t *Table) Authenticate(id, token string) *Boundary {
	digest := sha256.Sum256([]byte(token))
	b := t.Get(id)
	known := b
	if known == nil {
		known = &Boundary{}
	}
	if !known.proves(&digest, time.Now()) {
		return nil
	}
	return b
}

// Len returns how many boundaries are open.
func (t *Table) Len() int {
	m := t.snapshot.Load()
	if m == nil {
		return 0
	}
	return len(*m)
}

// Put opens b, or replaces the boundary of that id, and returns what the table
// now holds: b with its generation.
func (t *Table) Put(b *Boundary) *Boundary {
	return t.Apply([]*Boundary{b}, nil)[0]
}

// Delete closes the boundary named id and reports whether there was one.
func (t *Table) Delete(id string) bool {
	existed := false
	t.swap(func(m map[string]*Boundary) {
		_, existed = m[id]
		delete(m, id)
	})
	return existed
}

// Apply opens or replaces all of put and closes all of remove in one step: no
// reader sees one without the other. It returns what Put would for each.
func (t *Table) Apply(put []*Boundary, remove []string) []*Boundary {
	stored := make([]*Boundary, len(put))
	t.swap(func(m map[string]*Boundary) {
		for _, id := range remove {
			delete(m, id)
		}
		for i, b := range put {
			t.generation++
			held := *b
			held.Generation = t.generation
			held.replaced = make(chan struct{})
			if before := m[b.ID]; before != nil {
				held.closed = before.closed
			} else {
				held.closed = make(chan struct{})
			}
			held.Bindings = t.issued.Admit(b.Bindings)
			if before := m[b.ID]; before != nil {
				held.Bindings.Continue(before.Bindings)
			}
			m[b.ID] = &held
			stored[i] = &held
		}
	})
	return stored
}

// swap publishes a changed copy of the snapshot, then tells the holders of
// boundaries that are no longer in it: whoever hears it finds the new state.
func (t *Table) swap(change func(map[string]*Boundary)) {
	t.writing.Lock()
	defer t.writing.Unlock()
	before := map[string]*Boundary{}
	if m := t.snapshot.Load(); m != nil {
		before = *m
	}
	after := maps.Clone(before)
	change(after)
	t.snapshot.Store(&after)
	for id, b := range before {
		now := after[id]
		if now != b {
			t.issued.Withdraw(b.Bindings)
			close(b.replaced)
		}
		if now == nil || now.closed != b.closed {
			close(b.closed)
		}
	}
}

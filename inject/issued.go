package inject

import (
	"strings"
	"sync"
	"sync/atomic"
)

// Issued knows the placeholders of all boundaries that are open on one edge,
// so that one that turns up in another sandbox is told from any odd text. The
// zero value is ready for use. It is safe for concurrent use.
type Issued struct {
	mu     sync.RWMutex // guards the maps
	owners map[string]*owner
	folded map[string]*owner // by the placeholder in lower case
	shapes map[form]int      // how many placeholders have it
	marks  atomic.Pointer[marks]
}

// owner is whose a placeholder is.
type owner struct {
	boundary string
	env      string
	honey    bool
	sets     int // that have it: two while a boundary is replaced
}

// form is what a scanner has to know of a shape.
type form struct {
	prefix string
	length int
}

// Admit notes the placeholders of s and returns s as it is among all of them.
// It is up to the caller to Withdraw what Admit returned.
func (i *Issued) Admit(s *Set) *Set {
	if s == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.owners == nil {
		i.owners, i.folded = make(map[string]*owner), make(map[string]*owner)
		i.shapes = make(map[form]int)
	}
	before := len(i.shapes)
	for _, b := range s.all {
		i.add(s.id, b)
	}
	if len(i.shapes) != before || i.marks.Load() == nil {
		i.marks.Store(newMarks(i.shapes))
	}
	admitted := *s
	admitted.issued = i
	return &admitted
}

func (i *Issued) add(id string, b *bound) {
	o := i.owners[b.placeholder]
	if o == nil {
		o = &owner{boundary: id, env: b.env, honey: b.kind == KindHoney}
		i.owners[b.placeholder] = o
		i.folded[strings.ToLower(b.placeholder)] = o
	}
	o.sets++
	i.shapes[b.form()]++
}

// Withdraw forgets the placeholders of s, whose boundary has closed or been
// replaced.
func (i *Issued) Withdraw(s *Set) {
	if s == nil || s.issued != i {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	before := len(i.shapes)
	for _, b := range s.all {
		o := i.owners[b.placeholder]
		if o.sets--; o.sets == 0 {
			delete(i.owners, b.placeholder)
			delete(i.folded, strings.ToLower(b.placeholder))
		}
		if i.shapes[b.form()]--; i.shapes[b.form()] == 0 {
			delete(i.shapes, b.form())
		}
	}
	if len(i.shapes) != before {
		i.marks.Store(newMarks(i.shapes))
	}
}

func (b *bound) form() form { return form{b.shape.Prefix(), b.shape.Len()} }

// lookup returns whose placeholder a text is, or nil.
func (i *Issued) lookup(text string) *owner {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.owners[text]
}

func (i *Issued) lookupFolded(text string) *owner {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.folded[text]
}

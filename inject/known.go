package inject

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport/inject/scan"
	"github.com/sallyport/sallyport/inject/secret"
)

const (
	// learnTime bounds how long the first request of a boundary waits for the
	// values of its secrets.
	learnTime = time.Second
	// leakLen is how much of a rendering is looked for in what leaves: enough
	// that nothing else begins so, a PEM header included.
	leakLen = 256
)

// known are the values of a boundary's secrets as they were last read. They
// are looked for in what leaves the sandbox (decision 24) and in what comes
// back (decision 23).
type known struct {
	once sync.Once
	mu   sync.Mutex // serialises writers of now
	now  atomic.Pointer[snapshot]
}

// snapshot is immutable.
type snapshot struct {
	values    [][]byte // by held.index
	leaks     *scan.Finder
	stops     *scan.Finder // leaks, and the placeholders that no body may hold
	finds     []Find       // beside the needles of both
	responses *scan.Replacer
}

// in returns the variable whose value is in text.
func (k *known) in(text string) (env string, found bool) {
	now := k.now.Load()
	m, found := now.leaks.FindString(text, 0)
	if !found {
		return "", false
	}
	return now.finds[m.Needle].Env, true
}

// learn reads every secret of the set once, at its first request: only what is
// known is recognised. A source that doesn't answer is asked again when its
// secret is needed.
func (s *Set) learn(ctx context.Context, from *Resolver) {
	if from == nil || len(s.held) == 0 {
		return
	}
	s.values.once.Do(func() {
		ctx, cancel := context.WithTimeout(secret.Within(context.WithoutCancel(ctx), s.scope), learnTime)
		defer cancel()
		var reading sync.WaitGroup
		for _, h := range s.held {
			if h.ref == (secret.Ref{}) {
				continue
			}
			reading.Go(func() { _, _ = s.read(ctx, h, from) })
		}
		reading.Wait()
	})
}

// read reads a secret and notes its value.
func (s *Set) read(ctx context.Context, h *held, from *Resolver) (secret.Secret, error) {
	found, err := from.Read(ctx, h.ref)
	if err != nil {
		return secret.Secret{}, err
	}
	s.know(h, found.Value.Reveal())
	for key, value := range h.open(found.Value.Reveal()) {
		s.know(h.inner[key], []byte(value))
	}
	return found, nil
}

// know notes the value of h.
func (s *Set) know(h *held, value []byte) {
	k := s.values
	now := k.now.Load()
	if h.public || bytes.Equal(now.values[h.index], value) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	values := make([][]byte, len(s.held))
	copy(values, k.now.Load().values)
	values[h.index] = value
	k.now.Store(s.newSnapshot(values))
}

func (s *Set) newSnapshot(values [][]byte) *snapshot {
	now := &snapshot{values: values}
	var all []scan.Rendering
	for i, h := range s.held {
		for _, r := range scan.Renderings(values[i], []byte(h.stand)) {
			all = append(all, r)
			now.finds = append(now.finds, Find{Kind: FoundSecret, Env: h.env})
		}
	}
	now.responses = scan.NewReplacer(all)
	now.leaks = now.responses.Finder()
	var needles [][]byte
	for _, r := range all {
		needles = append(needles, r.Text[:min(len(r.Text), leakLen)])
	}
	if now.leaks.Longest() > leakLen {
		now.leaks = scan.NewFinder(needles)
	}
	now.stops = now.leaks
	for _, b := range s.all {
		if !s.strict[b.env] {
			continue
		}
		kind := FoundPlaceholder
		if b.kind == KindHoney {
			kind = FoundHoney
		}
		for _, r := range scan.Renderings([]byte(b.placeholder), []byte(b.placeholder)) {
			needles = append(needles, r.Text)
			now.finds = append(now.finds, Find{Kind: kind, Env: b.env})
		}
	}
	if len(needles) > len(all) {
		now.stops = scan.NewFinder(needles)
	}
	return now
}

package broker

import (
	"context"
	"crypto/subtle"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// movedFor is how long it is believed whether a repository has moved.
const movedFor = 5 * time.Minute

// sandbox is what the broker remembers of one sandbox.
type sandbox struct {
	id      string
	limiter *rate.Limiter
	wake    chan struct{} // tells its watcher of a new lease

	mu     sync.Mutex // guards what follows
	known  map[mintKey]outcome
	moves  map[Granted]move
	leases []outcome // all that may still be accepted by a forge
	dead   bool      // it has no boundary any more
}

// outcome is what a mint came to.
type outcome struct {
	of         mintKey
	credential Credential
	err        error
	minted     time.Time
	until      time.Time // served again until then
	ends       time.Time // not accepted by the forge after that, or revoked then
}

type move struct {
	moved bool
	until time.Time
}

func newSandbox(id string, limiter *rate.Limiter) *sandbox {
	return &sandbox{
		id: id, limiter: limiter, wake: make(chan struct{}, 1),
		known: map[mintKey]outcome{}, moves: map[Granted]move{},
	}
}

func (o outcome) answer(fresh bool) (Answer, error) {
	if o.err != nil {
		return Answer{}, o.err
	}
	return Answer{
		Grant: o.of.Granted, Access: o.of.access, Username: o.credential.Username, Password: o.credential.Password,
		Expires: o.ends, Fresh: fresh,
	}, nil
}

func (s *sandbox) cached(of mintKey, now time.Time) (outcome, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.known[of]
	return known, ok && now.Before(known.until)
}

// remember keeps a failure.
func (s *sandbox) remember(o outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[o.of] = o
}

// drop forgets a credential that was refused.
func (s *sandbox) drop(grant Granted, passwordSHA256 string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, access := range []Access{Read, Write} {
		known, ok := s.known[mintKey{grant, access}]
		if ok && known.err == nil && now.Sub(known.minted) >= settleTime && digest(known.credential.Password) == passwordSHA256 {
			delete(s.known, known.of)
		}
	}
}

// nameOf returns what the forge called a granted repository last.
func (s *sandbox) nameOf(of mintKey) Repository {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[of].credential.Repository
}

// holds reports whether a password is one of a grant's credentials that may
// still be accepted.
func (s *sandbox) holds(grant Granted, password []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	same := func(o outcome) bool {
		return o.err == nil && o.of.Granted == grant && subtle.ConstantTimeCompare(o.credential.Password.Reveal(), password) == 1
	}
	for _, o := range s.known {
		if same(o) {
			return true
		}
	}
	return slices.ContainsFunc(s.leases, same)
}

// hasMoved asks the issuer whether a repository has another name by now; a
// doubt counts as no.
func (s *sandbox) hasMoved(ctx context.Context, issuer Mover, grant Granted) bool {
	s.mu.Lock()
	known, ok := s.moves[grant]
	s.mu.Unlock()
	if ok && time.Now().Before(known.until) {
		return known.moved
	}
	if !s.limiter.Allow() {
		return false
	}
	moved, err := issuer.Moved(ctx, grant.Repository)
	lasts := movedFor
	if err != nil {
		moved, lasts = false, refusedFor
	}
	s.mu.Lock()
	s.moves[grant] = move{moved, time.Now().Add(lasts)}
	if moved {
		// What is cached may have been minted before the move.
		for of, known := range s.known {
			if of.Granted == grant && known.err == nil && known.credential.Repository == grant.Repository {
				delete(s.known, of)
			}
		}
	}
	s.mu.Unlock()
	return moved
}

// poke makes the watcher look again.
func (s *sandbox) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

package broker

import (
	"context"
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
	known  map[Granted]outcome
	moves  map[Granted]move
	leases []outcome // all that may still be accepted by a forge
	dead   bool      // it has no boundary any more
}

// outcome is what a mint came to.
type outcome struct {
	grant      Granted
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
		known: map[Granted]outcome{}, moves: map[Granted]move{},
	}
}

func (o outcome) answer(fresh bool) (Answer, error) {
	if o.err != nil {
		return Answer{}, o.err
	}
	return Answer{
		Grant: o.grant, Username: o.credential.Username, Password: o.credential.Password,
		Expires: o.ends, Fresh: fresh,
	}, nil
}

func (s *sandbox) cached(grant Granted, now time.Time) (outcome, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.known[grant]
	return known, ok && now.Before(known.until)
}

// remember keeps a failure.
func (s *sandbox) remember(o outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[o.grant] = o
}

// drop forgets a credential that was refused.
func (s *sandbox) drop(grant Granted, passwordSHA256 string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.known[grant]
	if ok && known.err == nil && now.Sub(known.minted) >= settleTime && digest(known.credential.Password) == passwordSHA256 {
		delete(s.known, grant)
	}
}

// nameOf returns what the forge called a granted repository last.
func (s *sandbox) nameOf(grant Granted) Repository {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[grant].credential.Repository
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
		if known, ok := s.known[grant]; ok && known.err == nil && known.credential.Repository == grant.Repository {
			delete(s.known, grant)
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

package broker

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Waits between attempts to revoke.
const (
	firstRetry   = 500 * time.Millisecond
	longestRetry = time.Minute
	revokeTime   = 10 * time.Second // one attempt may take
)

// keep takes a credential into the books of its sandbox, unless the grant has
// gone while it was minted. Whoever closes a boundary does that before the
// watcher looks, and the watcher looks under the same lock: so a credential is
// either refused here or seen there.
func (b *Broker) keep(s *sandbox, o outcome) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	grants, _ := b.options.Lookup(s.id)
	if s.dead || !grants.has(o.of.Granted) {
		return false
	}
	s.known[o.of] = o
	if o.credential.Revoke != nil {
		s.leases = append(s.leases, o)
		s.poke()
	}
	return true
}

// watch revokes what a sandbox is no longer granted, until its boundary or the
// broker has closed.
func (b *Broker) watch(s *sandbox) {
	for {
		grants, changed := b.options.Lookup(s.id)
		due, next := s.settle(grants, time.Now())
		for _, o := range due {
			b.revoke(s.id, o)
		}
		if grants == nil {
			b.forget(s)
			return
		}
		timer := time.NewTimer(next)
		select {
		case <-changed:
		case <-s.wake:
		case <-timer.C:
		case <-b.stop:
			timer.Stop()
			for _, o := range s.end() {
				b.revoke(s.id, o)
			}
			return
		}
		timer.Stop()
	}
}

// settle takes the leases out of the books that the grants don't cover and
// those that have come to their end. It returns those that must be revoked, and
// when to look again.
func (s *sandbox) settle(grants *Grants, now time.Time) (due []outcome, next time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = grants == nil
	next = maxLife
	s.leases = slices.DeleteFunc(s.leases, func(o outcome) bool {
		left := o.ends.Sub(now)
		switch {
		case left <= 0 && o.ends.Equal(o.credential.Expires):
			return true // the forge has ended it by itself
		case left <= 0 || !grants.has(o.of.Granted):
			due = append(due, o)
			return true
		}
		next = min(next, left)
		return false
	})
	for of := range s.known {
		if !grants.has(of.Granted) {
			delete(s.known, of)
		}
	}
	return due, next
}

// end takes everything out of the books.
func (s *sandbox) end() []outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.leases
	s.leases, s.dead = nil, true
	clear(s.known)
	return all
}

// forget drops the state of a sandbox whose boundary has closed. One that has
// opened under the same id since gets a new state.
func (b *Broker) forget(s *sandbox) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sandboxes[s.id] == s {
		delete(b.sandboxes, s.id)
	}
}

// revoke ends a credential at the forge, trying again until it would have ended
// anyway. It doesn't wait; the caller holds a share of b.work.
func (b *Broker) revoke(sandboxID string, o outcome) {
	if o.credential.Revoke == nil {
		return
	}
	b.work.Go(func() {
		event := Event{Kind: Revoked, Sandbox: sandboxID, Grant: o.of.Granted, Access: o.of.access, Expires: o.ends, TokenHash: TokenHash(o.credential.Password)}
		for delay := firstRetry; ; delay = min(2*delay, longestRetry) {
			event.Err = b.revokeOnce(o)
			if event.Err == nil {
				break
			}
			b.options.Log.Warn("git credential not revoked", "sandbox", sandboxID, "repository", o.of.Repository.String(), "error", event.Err)
			if !b.pause(delay) || expired(o) {
				event.Kind = RevokeFailed
				break
			}
		}
		b.options.Record(event)
	})
}

func (b *Broker) revokeOnce(o outcome) error {
	ctx, cancel := context.WithTimeout(b.ctx, revokeTime)
	defer cancel()
	return o.credential.Revoke(ctx)
}

// expired reports whether nobody accepts a credential any more.
func expired(o outcome) bool {
	return !o.credential.Expires.IsZero() && !time.Now().Before(o.credential.Expires)
}

// pause waits, and reports false if the broker gives up.
func (b *Broker) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-b.ctx.Done():
		return false
	}
}

// Close revokes every outstanding credential and returns once that is done; if
// ctx ends before, the rest is reported as failed. Get returns ErrClosed from
// now on.
func (b *Broker) Close(ctx context.Context) error {
	b.mu.Lock()
	first := !b.closed
	b.closed = true
	b.mu.Unlock()
	if first {
		close(b.stop)
	}
	done := make(chan struct{})
	go func() {
		b.work.Wait()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = fmt.Errorf("revoke git credentials: %w", ctx.Err())
	}
	b.cancel()
	<-done
	return err
}

package vault

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// tick is how often Serve looks for what is to be renewed or revoked.
	tick = time.Second
	// atOnce bounds how many requests Serve has under way.
	atOnce = 8
	// endWithin is how long a stopping Serve takes to revoke what is left.
	endWithin = 5 * time.Second
	// retireAfter is how long what was granted under an old token is used on:
	// longer than any cache before us holds it.
	retireAfter = time.Minute
)

// Serve renews tokens and leases in time and revokes what closed boundaries
// were granted, until ctx is done; then it revokes all that is left, and the
// token unless it was handed to us. Failures go to log and are tried again.
// Without Serve, reads work all the same, and what was granted ends by itself.
func (s *Source) Serve(ctx context.Context, log *slog.Logger) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
			defer cancel()
			if err := s.end(ending); err != nil {
				log.Warn("vault: not all was revoked", "error", err)
			}
			return nil
		case <-ticker.C:
			for _, err := range s.keep(ctx) {
				log.Warn("vault: not renewed or revoked", "error", err)
			}
		}
	}
}

// keep does what is due and returns what failed.
func (s *Source) keep(ctx context.Context) []error {
	if err := s.revokeRetired(ctx, time.Now()); err != nil {
		return []error{err}
	}
	s.mu.Lock()
	sess := s.current
	s.mu.Unlock()
	if sess == nil {
		return nil
	}
	if err := s.keepToken(ctx, sess); err != nil {
		return []error{fmt.Errorf("renew token: %w", err)}
	}
	due := s.due(sess, time.Now())
	failures := make([]error, len(due))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, do := range due {
		g.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
			defer cancel()
			failures[i] = do(ctx)
			return nil
		})
	}
	_ = g.Wait() // each keeps its own
	var failed []error
	for _, err := range failures {
		if err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

// keepToken renews the session's token, or logs in again if that gains no
// time.
func (s *Source) keepToken(ctx context.Context, sess *session) error {
	sess.mu.Lock()
	now := time.Now()
	due, renewable, over := sess.term.due(now), sess.term.renewable, sess.term.over(now)
	sess.mu.Unlock()
	if !due && !over {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	if renewable && !over {
		done, err := s.renew(ctx, sess)
		if done || err != nil {
			return err
		}
	}
	if !s.options.Auth.renews() && !over {
		sess.setTerm(term.unrenewed)
		return nil
	}
	s.retire(sess)
	_, err := s.session(ctx)
	return err
}

// renew extends the session's token and reports whether that gained time that
// a new login wouldn't.
func (s *Source) renew(ctx context.Context, sess *session) (bool, error) {
	answer, err := sess.client.Auth().Token().RenewSelfWithContext(ctx, int(sess.first.Seconds()))
	switch {
	case err == nil && answer != nil && answer.Auth != nil:
		granted := extended(answer.Auth.LeaseDuration, answer.Auth.Renewable, sess.first)
		if granted.exhausted(sess.first) && s.options.Auth.renews() {
			return false, nil
		}
		sess.setTerm(func(term) term { return granted })
		return true, nil
	case status(err) == http.StatusForbidden || gone(err):
		return false, nil
	default:
		sess.setTerm(func(t term) term { return t.postponed(time.Now()) })
		return true, fault(err)
	}
}

func (sess *session) setTerm(change func(term) term) {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	sess.term = change(sess.term)
}

// retire takes a session out of use whose token still lives. What was granted
// under it is revoked once no cache can hold it any more.
func (s *Source) retire(sess *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == sess {
		s.current = nil
	}
	s.retired = append(s.retired, retired{sess, time.Now().Add(retireAfter)})
}

// revokeRetired revokes what was granted under sessions that are out of use.
func (s *Source) revokeRetired(ctx context.Context, now time.Time) error {
	s.mu.Lock()
	var out []*session
	s.retired = slices.DeleteFunc(s.retired, func(r retired) bool {
		if now.Before(r.until) {
			return false
		}
		out = append(out, r.session)
		return true
	})
	s.mu.Unlock()
	var errs []error
	for _, sess := range out {
		errs = append(errs, s.revokeAll(ctx, sess))
	}
	return errors.Join(errs...)
}

// due returns what is to be done for the boundaries of sess.
func (s *Source) due(sess *session, now time.Time) []func(context.Context) error {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	var all []func(context.Context) error
	for id, h := range sess.holders {
		if s.options.Open != nil && id != "" && !s.options.Open(id) {
			delete(sess.holders, id)
			sess.closing[h] = true
			continue
		}
		all = append(all, h.due(now)...)
	}
	for h := range sess.closing {
		all = append(all, func(ctx context.Context) error { return sess.release(ctx, h) })
	}
	return all
}

// release revokes what a closed boundary was granted, and is done with it
// unless that fails.
func (sess *session) release(ctx context.Context, h *holder) error {
	if err := h.revoke(ctx); err != nil {
		return fmt.Errorf("revoke what boundary %s was granted: %w", h.boundary, err)
	}
	sess.mu.Lock()
	defer sess.mu.Unlock()
	delete(sess.closing, h)
	return nil
}

// due returns what is to be renewed for one boundary.
func (h *holder) due(now time.Time) []func(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []func(context.Context) error
	if h.child && h.term.renewable && h.term.due(now) {
		all = append(all, h.renewToken)
	}
	for _, l := range h.leases {
		if l.term.renewable && l.term.due(now) {
			all = append(all, func(ctx context.Context) error { return h.renew(ctx, l) })
		}
	}
	return all
}

// end revokes everything.
func (s *Source) end(ctx context.Context) error {
	s.mu.Lock()
	sess := s.current
	s.current = nil
	s.mu.Unlock()
	err := s.revokeRetired(ctx, time.Now().Add(retireAfter))
	if sess == nil {
		return err
	}
	return errors.Join(err, s.revokeAll(ctx, sess))
}

// revokeAll revokes what was granted under sess and, unless it was handed to
// us, its token.
func (s *Source) revokeAll(ctx context.Context, sess *session) error {
	sess.mu.Lock()
	all := slices.AppendSeq(slices.Collect(maps.Values(sess.holders)), maps.Keys(sess.closing))
	sess.mu.Unlock()
	var errs []error
	for _, h := range all {
		errs = append(errs, h.revoke(ctx))
	}
	if s.options.Auth.Method != AuthToken {
		// A token that may not revoke itself has died.
		if err := sess.client.Auth().Token().RevokeSelfWithContext(ctx, ""); status(err) != http.StatusForbidden && !gone(err) {
			errs = append(errs, fault(err))
		}
	}
	return errors.Join(errs...)
}

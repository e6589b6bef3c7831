package vault

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"time"

	"github.com/sallyport/sallyport/inject/secret"
)

// lease is what an engine issued to one boundary. All fields of one answer
// belong together: a user name is no good with another lease's password.
type lease struct {
	id     string
	path   string
	first  time.Duration // as granted at first
	fields map[string]secret.Value
	term   term // guarded by holder.mu
}

// readLeased returns a field of what the boundary has been issued, and has it
// issued if there is nothing yet, or nothing that still counts.
func (s *Source) readLeased(ctx context.Context, sess *session, held *holder, n name) (secret.Secret, error) {
	// Detached: it serves all who wait for a field of it.
	detached := context.WithoutCancel(ctx)
	// %p: what a discarded holder is issued is no use to its successor.
	reading := s.issues.DoChan(fmt.Sprintf("%p %s", held, n.path), func() (any, error) {
		ctx, cancel := context.WithTimeout(detached, s.options.Timeout)
		defer cancel()
		return held.lease(ctx, n.path)
	})
	select {
	case r := <-reading:
		if r.Err != nil {
			return secret.Secret{}, r.Err
		}
		return held.pick(sess, r.Val.(*lease), n.field)
	case <-ctx.Done():
		return secret.Secret{}, ctx.Err()
	}
}

// pick returns a field of l. It expires with whatever ends first of the lease
// and the tokens that it was issued under.
func (h *holder) pick(sess *session, l *lease, field string) (secret.Secret, error) {
	value, ok := l.fields[field]
	if !ok {
		return secret.Secret{}, fmt.Errorf("no field %q: %w", field, secret.ErrNotFound)
	}
	sess.mu.Lock()
	expires := sess.term.ends()
	sess.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, end := range []time.Time{h.term.ends(), l.term.ends()} {
		if expires.IsZero() || !end.IsZero() && end.Before(expires) {
			expires = end
		}
	}
	return secret.Secret{Value: value, Version: path.Base(l.id), Expires: expires}, nil
}

// lease returns the lease at path: the one at hand if the server still knows
// it, so that a revoked one isn't used on, else a new one.
func (h *holder) lease(ctx context.Context, path string) (*lease, error) {
	h.mu.Lock()
	l := h.leases[path]
	usable := l != nil && !l.term.over(time.Now())
	h.mu.Unlock()
	if usable {
		_, err := h.client.Sys().LookupWithContext(ctx, l.id)
		switch {
		case err == nil:
			return l, nil
		case gone(err):
		case status(err) == http.StatusForbidden && !dead(ctx, h.client):
			return l, nil // we may not ask, and have the server's word for its term
		default:
			return nil, err
		}
	}
	h.drop(l)
	return h.issue(ctx, path)
}

// gone reports whether the server says that it knows no such lease: 400 or
// 404, by version.
func gone(err error) bool {
	code := status(err)
	return code == http.StatusBadRequest || code == http.StatusNotFound
}

// drop forgets l, unless another has taken its place; nil is none.
func (h *holder) drop(l *lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l != nil && h.leases[l.path] == l {
		delete(h.leases, l.path)
	}
}

// issue has the engine issue a new secret.
func (h *holder) issue(ctx context.Context, path string) (*lease, error) {
	answer, err := h.client.Logical().ReadWithContext(ctx, path)
	if err != nil {
		return nil, err
	}
	if answer == nil {
		return nil, fmt.Errorf("server answered 404: %w", secret.ErrNotFound)
	}
	l := &lease{id: answer.LeaseID, path: path, fields: map[string]secret.Value{}}
	for field := range answer.Data {
		// Fields without text can't be named by a binding.
		if value, err := pick(answer.Data, field); err == nil {
			l.fields[field] = value
		}
	}
	if l.id == "" {
		return l, nil // not leased: each read is asked anew
	}
	l.term = newTerm(time.Duration(answer.LeaseDuration)*time.Second, answer.Renewable)
	l.first = l.term.granted
	h.mu.Lock()
	released := h.released
	if !released {
		h.leases[path] = l
	}
	h.mu.Unlock()
	if released {
		return nil, errors.Join(fmt.Errorf("boundary is closed: %w", secret.ErrUnavailable), h.client.Sys().RevokeWithContext(ctx, l.id))
	}
	return l, nil
}

// renew extends a lease, or drops it if the server has.
func (h *holder) renew(ctx context.Context, l *lease) error {
	answer, err := h.client.Sys().RenewWithContext(ctx, l.id, int(l.first.Seconds()))
	if gone(err) {
		h.drop(l)
		return fault(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		l.term = l.term.postponed(time.Now())
		return fault(err)
	}
	l.term = extended(answer.LeaseDuration, answer.Renewable, l.first)
	return nil
}

// renewToken extends the token of the boundary.
func (h *holder) renewToken(ctx context.Context) error {
	answer, err := h.client.Auth().Token().RenewSelfWithContext(ctx, 0)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil || answer == nil || answer.Auth == nil {
		h.term = h.term.postponed(time.Now())
		return fault(err)
	}
	h.term = extended(answer.Auth.LeaseDuration, answer.Auth.Renewable, h.term.granted)
	return nil
}

// revoke ends all that the boundary was granted. What the server couldn't be
// asked to revoke stays to be tried again. What is being issued meanwhile is
// revoked by whoever has it issued.
func (h *holder) revoke(ctx context.Context) error {
	h.mu.Lock()
	h.released = true
	leases := slices.Collect(maps.Values(h.leases))
	h.mu.Unlock()
	if h.child {
		// And with the token all that was issued under it. If it may not be
		// used, it has died already.
		err := h.client.Auth().Token().RevokeSelfWithContext(ctx, "")
		if gone(err) || status(err) == http.StatusForbidden {
			return nil
		}
		return fault(err)
	}
	var errs []error
	for _, l := range leases {
		err := h.client.Sys().RevokeWithContext(ctx, l.id)
		if err == nil || gone(err) || status(err) == http.StatusForbidden {
			h.drop(l)
		}
		if !gone(err) {
			errs = append(errs, fault(err))
		}
	}
	return errors.Join(errs...)
}

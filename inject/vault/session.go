package vault

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/vault/api"

	"github.com/sallyport/sallyport/inject/secret"
)

// session is one login and all that was granted under its token, which ends
// with that token.
type session struct {
	client *api.Client
	first  time.Duration // of the token, as granted at the login

	mu      sync.Mutex // guards what follows
	term    term
	holders map[string]*holder // by boundary
	closing map[*holder]bool   // of closed boundaries, still to be revoked
}

// holder is what one boundary was granted.
type holder struct {
	boundary string
	client   *api.Client // speaks for the boundary
	child    bool        // client has a token of its own

	mu       sync.Mutex // guards what follows
	term     term       // of the child token
	leases   map[string]*lease
	released bool
}

// session returns the current session, and logs in if there is none or its
// token is at its end. Concurrent callers share one login, and for a moment
// its failure.
func (s *Source) session(ctx context.Context) (*session, error) {
	if held := s.live(); held != nil {
		return held, nil
	}
	detached := context.WithoutCancel(ctx)
	result := s.logins.DoChan("", func() (any, error) {
		if held := s.live(); held != nil {
			return held, nil
		}
		return s.login(detached)
	})
	select {
	case r := <-result:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*session), nil
	case <-ctx.Done():
		return nil, fault(ctx.Err())
	}
}

// live returns the current session if its token can still be used. One that
// can't be replaced is used to its end.
func (s *Source) live() *session {
	s.mu.Lock()
	held := s.current
	s.mu.Unlock()
	if held == nil {
		return nil
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	if held.term.over(time.Now()) && s.options.Auth.renews() {
		return nil
	}
	return held
}

// login makes a new session the current one.
func (s *Source) login(ctx context.Context) (*session, error) {
	s.mu.Lock()
	failure, until := s.loginErr, s.loginAfter
	s.mu.Unlock()
	if time.Now().Before(until) {
		return nil, failure
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	client, granted, err := s.door.login(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.loginErr = fmt.Errorf("log in by %s: %w", s.options.Auth.Method, err)
		s.loginAfter = time.Now().Add(loginPause)
		return nil, s.loginErr
	}
	s.current = &session{
		client: client, first: granted.granted, term: granted,
		holders: map[string]*holder{}, closing: map[*holder]bool{},
	}
	return s.current, nil
}

// discard takes a dead session out of use.
func (s *Source) discard(dead *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == dead {
		s.current = nil
	}
}

// holder returns what the boundary was granted, and makes its token if it has
// to have one.
func (s *Source) holder(ctx context.Context, sess *session, boundary string) (*holder, error) {
	sess.mu.Lock()
	held := sess.holders[boundary]
	if held != nil && held.over() {
		delete(sess.holders, boundary)
		held = nil
	}
	sess.mu.Unlock()
	if held != nil {
		return held, nil
	}
	fresh := &holder{boundary: boundary, client: as(sess.client, boundary, ""), leases: map[string]*lease{}}
	if s.options.BoundaryTokens && boundary != "" {
		if err := fresh.getToken(ctx, sess.client); err != nil {
			return nil, fmt.Errorf("make token of the boundary: %w", err)
		}
	}
	sess.mu.Lock()
	held = sess.holders[boundary]
	if held == nil {
		sess.holders[boundary] = fresh
	}
	sess.mu.Unlock()
	if held == nil {
		return fresh, nil
	}
	// Another read was faster.
	return held, fresh.revoke(ctx)
}

// over reports whether the boundary's token is at its end.
func (h *holder) over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.term.over(time.Now())
}

// getToken makes a child token for the boundary. Its metadata is in each entry
// of the audit log.
func (h *holder) getToken(ctx context.Context, parent *api.Client) error {
	renewable := true
	made, err := as(parent, h.boundary, "").Auth().Token().CreateWithContext(ctx, &api.TokenCreateRequest{
		DisplayName: "sallyport-" + h.boundary,
		Metadata:    map[string]string{"sallyport_boundary": h.boundary},
		Renewable:   &renewable,
	})
	if err != nil {
		return err
	}
	if made == nil || made.Auth == nil || made.Auth.ClientToken == "" {
		return fmt.Errorf("answer holds no token: %w", secret.ErrUnavailable)
	}
	h.child = true
	h.client = as(parent, h.boundary, made.Auth.ClientToken)
	h.term = newTerm(time.Duration(made.Auth.LeaseDuration)*time.Second, made.Auth.Renewable)
	return nil
}

// with asks for a boundary. If it turns out that a token has died, it is
// replaced and asked again; a refusal that stays one is the answer.
func (s *Source) with(ctx context.Context, boundary string, ask func(*session, *holder) error) error {
	const tries = 3 // a dead child token may hide a dead parent
	var err error
	for range tries {
		sess, sessErr := s.session(ctx)
		if sessErr != nil {
			return sessErr
		}
		var held *holder
		if held, err = s.holder(ctx, sess, boundary); err == nil {
			err = ask(sess, held)
		}
		if status(err) != 403 || !s.bury(ctx, sess, held) {
			break
		}
	}
	return fault(err)
}

// bury takes tokens that have died out of use, and reports whether there were
// any. held may be nil.
func (s *Source) bury(ctx context.Context, sess *session, held *holder) bool {
	if held != nil && held.child && dead(ctx, held.client) {
		sess.mu.Lock()
		if sess.holders[held.boundary] == held {
			delete(sess.holders, held.boundary)
		}
		sess.mu.Unlock()
		return true
	}
	if dead(ctx, sess.client) {
		s.discard(sess)
		return true
	}
	return false
}

// dead reports whether the server knows c's token no more. A token may always
// look itself up, unless its policy takes even that away.
func dead(ctx context.Context, c *api.Client) bool {
	_, err := c.Auth().Token().LookupSelfWithContext(ctx)
	return status(err) == 403
}

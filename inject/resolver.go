package inject

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/sallyport/sallyport/inject/secret"
)

const (
	// DefaultTTL is how long a Resolver serves a value before it asks again,
	// and so how long a rotation or deletion takes at most (SI-16).
	DefaultTTL = 30 * time.Second
	// readTimeout bounds one read of a source, for which several requests may
	// wait.
	readTimeout = 10 * time.Second
	// failureTTL is the mean time for which a failure is remembered; jitter of
	// half of it either way keeps edges from returning in step.
	failureTTL = time.Second
	// maxCached bounds the cache over all boundaries; the least recently used
	// goes first.
	maxCached = 16384
)

// Resolver reads secrets for Apply: it picks the source by kind, coalesces
// concurrent reads and caches for a short time (decision 21), for each opening
// of a boundary by itself ([secret.Scope]): sources may issue each its own. A
// value is never served past its time or its lease. It is safe for concurrent use and runs
// nothing of its own; nil knows no source.
type Resolver struct {
	sources    map[string]secret.Source
	ttl        time.Duration
	stale      time.Duration
	signers    map[Kind]Signer
	exchangers map[Kind]Exchanger
	cache      *lru.Cache[question, outcome]
	grants     *lru.Cache[grantKey, *grant]
	reads      singleflight.Group
}

// MaxStale is the longest StaleFor (decision 21).
const MaxStale = 5 * time.Minute

// ResolverOptions are what a Resolver works with. Maps are not copied and must
// not change.
type ResolverOptions struct {
	Sources    map[string]secret.Source // by kind: "env", "file", "store", …
	Signers    map[Kind]Signer          // nil: bindings of those kinds can't be had
	Exchangers map[Kind]Exchanger
	TTL        time.Duration // zero or less caches no value
	// StaleFor is how much longer than its time a value is served while its
	// source is unavailable, at most MaxStale; a lease ends it sooner. Zero, the
	// default, is not at all. What the source says is gone or denied never is.
	StaleFor time.Duration
}

// question is what a read asks, and for whom; nil is for no boundary.
type question struct {
	scope *secret.Scope
	ref   secret.Ref
}

// outcome is what a read came to, good until the given time.
type outcome struct {
	secret secret.Secret
	err    error
	until  time.Time
	// good is the last value that the source gave, and usable for how long that
	// is while it gives none.
	good   secret.Secret
	usable time.Time
}

// NewResolver returns a Resolver over the given sources by kind ("env",
// "file", "store", …). The map is not copied and must not change.
func NewResolver(sources map[string]secret.Source) *Resolver {
	return NewResolverTTL(sources, DefaultTTL)
}

// NewResolverTTL is [NewResolver] with another time to live; zero or less
// caches no value.
func NewResolverTTL(sources map[string]secret.Source, ttl time.Duration) *Resolver {
	return NewResolverWith(ResolverOptions{Sources: sources, TTL: ttl})
}

// NewResolverWith returns a Resolver that works with o.
func NewResolverWith(o ResolverOptions) *Resolver {
	cache, err := lru.New[question, outcome](maxCached)
	if err != nil {
		panic(err) // only for a size below one
	}
	return &Resolver{
		sources: o.Sources, ttl: o.TTL, stale: min(max(o.StaleFor, 0), MaxStale),
		signers: o.Signers, exchangers: o.Exchangers, cache: cache, grants: newGrants(),
	}
}

// signer returns what signs for a kind, or nil.
func (r *Resolver) signer(k Kind) Signer {
	if r == nil {
		return nil
	}
	return r.signers[k]
}

// Read returns the current version of a secret. The error wraps one of
// [secret.ErrNotFound], [secret.ErrDenied] and [secret.ErrUnavailable], and
// names the reference; a cancelled ctx is ErrUnavailable too.
func (r *Resolver) Read(ctx context.Context, ref secret.Ref) (secret.Secret, error) {
	if r == nil || r.sources[ref.Source] == nil {
		// Without the name, which may be a value pasted in place of a
		// reference.
		return secret.Secret{}, fmt.Errorf("read secret: no source of kind %q: %w", ref.Source, secret.ErrUnavailable)
	}
	asked := question{secret.ScopeOf(ctx), ref}
	if known, ok := r.cache.Get(asked); ok && time.Now().Before(known.until) {
		return known.secret, known.err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	// Detached: the read serves whoever waits for it, and must not fail for
	// all when the one that began it goes away.
	detached := context.WithoutCancel(ctx)
	reading := r.reads.DoChan(fmt.Sprintf("%p %s", asked.scope, ref), func() (any, error) {
		return r.read(detached, asked), nil
	})
	select {
	case result := <-reading:
		got := result.Val.(outcome)
		return got.secret, got.err
	case <-ctx.Done():
		return secret.Secret{}, fmt.Errorf("read secret %s: %w: %w", ref, secret.ErrUnavailable, ctx.Err())
	}
}

// read asks the source and caches what it said. The time to live counts from
// before the question: what changes while it is being answered is old then.
func (r *Resolver) read(ctx context.Context, q question) outcome {
	ref := q.ref
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	asked := time.Now()
	found, err := r.sources[ref.Source].Read(ctx, ref.Name)
	before, _ := r.cache.Peek(q)
	got := outcome{secret: found, until: asked.Add(r.ttl)}
	switch {
	case err != nil:
		got = outcome{err: classify(ref, err)}
	case found.Value.IsEmpty():
		got = outcome{err: fmt.Errorf("read secret %s: empty value: %w", ref, secret.ErrUnavailable)}
	case !found.Expires.IsZero() && !time.Now().Before(found.Expires):
		got = outcome{err: fmt.Errorf("read secret %s: lease has ended: %w", ref, secret.ErrUnavailable)}
	case !found.Expires.IsZero() && found.Expires.Before(got.until):
		got.until = found.Expires
	}
	got.good, got.usable = found, r.usableUntil(got)
	if got.err != nil {
		got.until = time.Now().Add(failureTTL/2 + rand.N(failureTTL)) //nolint:gosec // spreads retries, guards nothing
		got = got.orStale(before)
	}
	r.cache.Add(q, got)
	return got
}

// usableUntil is how long the value of got may be served if no other can be had.
func (r *Resolver) usableUntil(got outcome) time.Time {
	until := got.until.Add(r.stale)
	if lease := got.secret.Expires; !lease.IsZero() && lease.Before(until) {
		until = lease
	}
	return until
}

// orStale is a failure, or the value of before that stands in for it.
func (o outcome) orStale(before outcome) outcome {
	o.good, o.usable = secret.Secret{}, time.Time{}
	if !errors.Is(o.err, secret.ErrUnavailable) || !time.Now().Before(before.usable) {
		return o
	}
	o.good, o.usable = before.good, before.usable
	o.secret, o.err = before.good, nil
	if before.usable.Before(o.until) {
		o.until = before.usable
	}
	return o
}

// classify wraps a source's error so that it is one of the three. What a
// source didn't map itself is unavailable, and is not quoted: nothing vouches
// that it holds no value.
func classify(ref secret.Ref, err error) error {
	for _, known := range [...]error{secret.ErrNotFound, secret.ErrDenied, secret.ErrUnavailable} {
		if errors.Is(err, known) {
			return fmt.Errorf("read secret %s: %w", ref, err)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("read secret %s: %w: %w", ref, secret.ErrUnavailable, err)
	}
	return fmt.Errorf("read secret %s: source failed with %T: %w", ref, err, secret.ErrUnavailable)
}

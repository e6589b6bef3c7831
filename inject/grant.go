package inject

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/sallyport/sallyport/inject/secret"
)

const (
	// maxGrants bounds the tokens that are kept; the least recently used goes
	// first.
	maxGrants = 4096
	// dropPause is the least time between two tokens that are given up because
	// an upstream refused them: a sandbox may ask for what is refused.
	dropPause = 5 * time.Second
	// savePause is the least time between two attempts to write a refresh token.
	savePause = time.Second
	// maxMine is how many of the refresh tokens that we wrote are recognised
	// when the source, or a cache, still has them.
	maxMine = 16
)

// grantKey tells grants apart. Boundaries share the tokens of a shared secret;
// what a source issued to one boundary alone stays with it.
type grantKey struct {
	scope   *secret.Scope
	ref     secret.Ref
	options [sha256.Size]byte
}

// grant is a secret for which tokens are had, and the token in use.
type grant struct {
	by     Exchanger
	keeper secret.Keeper // nil: the source can't be written
	name   string        // in the source
	asking singleflight.Group

	mu      sync.Mutex          // guards what follows
	seed    []byte              // the source's value that refresh descends from
	refresh secret.Value        // newer than seed; empty if there is none
	mine    [][sha256.Size]byte // refresh tokens of ours that the source may show
	unsaved bool
	saved   time.Time // when that was last tried
	issued  Token     // zero: none
	began   time.Time // its life
	failure error
	retry   time.Time // when failure is over
	dropped time.Time
}

// grantOf returns the grant of b's secret.
func (r *Resolver) grantOf(ctx context.Context, b *bound, found secret.Secret) *grant {
	// Options are plain values: they always encode.
	options, _ := json.Marshal([]any{b.kind, b.options.OAuth2, b.options.Google})
	key := grantKey{ref: b.secret.ref, options: sha256.Sum256(options)}
	if !found.Expires.IsZero() {
		key.scope = secret.ScopeOf(ctx)
	}
	keeper, _ := r.sources[b.secret.ref.Source].(secret.Keeper)
	fresh := &grant{by: r.exchangers[b.kind], keeper: keeper, name: b.secret.ref.Name}
	if b.kind != KindRefreshToken {
		fresh.keeper = nil
	}
	if known, there, _ := r.grants.PeekOrAdd(key, fresh); there {
		r.grants.Get(key) // now the most recently used
		return known
	}
	return fresh
}

func newGrants() *lru.Cache[grantKey, *grant] {
	cache, err := lru.New[grantKey, *grant](maxGrants)
	if err != nil {
		panic(err) // only for a size below one
	}
	return cache
}

// get returns the token in use, or asks for one. However many wait, one asks;
// and while a token is still good nobody waits for the next.
func (g *grant) get(ctx context.Context, asked Grant) (Token, error) {
	if g.by == nil {
		return Token{}, fmt.Errorf("nothing exchanges for kind %q: %w", asked.Options.Kind, secret.ErrUnavailable)
	}
	now, good, fresh, err := g.look(asked.Secret.Reveal())
	if fresh || err != nil {
		return now, err
	}
	// Detached: what is spent for the token is spent, whoever has gone away.
	detached := context.WithoutCancel(ctx)
	asking := g.asking.DoChan("", func() (any, error) { return g.ask(detached, asked) })
	if good {
		return now, nil
	}
	select {
	case result := <-asking:
		if result.Err != nil {
			return Token{}, result.Err
		}
		return result.Val.(Token), nil
	case <-ctx.Done():
		return Token{}, fmt.Errorf("%w: %w", secret.ErrUnavailable, ctx.Err())
	}
}

// look says what is known: a token that is good, one that needn't be replaced
// yet, or a failure a moment ago.
func (g *grant) look(value []byte) (now Token, good, fresh bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.follow(value)
	at := time.Now()
	if !g.issued.Value.IsEmpty() && at.Before(g.issued.Expires) {
		life := g.issued.Expires.Sub(g.began)
		ahead := min(early, life/10)
		good, fresh = true, at.Before(g.issued.Expires.Add(-ahead)) && (!g.unsaved || at.Before(g.saved.Add(savePause)))
		if g.failure != nil && at.Before(g.retry) {
			fresh = true // not yet again
		}
		return g.issued, good, fresh, nil
	}
	if g.failure != nil && at.Before(g.retry) {
		return Token{}, false, false, g.failure
	}
	return Token{}, false, false, nil
}

// follow takes notice of the source's value: one that is neither what it was
// nor ours begins the grant anew.
func (g *grant) follow(value []byte) {
	if bytes.Equal(value, g.seed) {
		return
	}
	if g.seed != nil && slices.Contains(g.mine, sha256.Sum256(value)) {
		return
	}
	g.seed, g.refresh, g.mine, g.unsaved = value, secret.Value{}, nil, false
	g.issued, g.failure = Token{}, nil
}

// ask gets a token. A refresh token is only spent once its successor could be
// written.
func (g *grant) ask(ctx context.Context, asked Grant) (Token, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	g.save(ctx)
	if now, _, fresh, err := g.look(asked.Secret.Reveal()); fresh || err != nil {
		return now, err
	}
	if newer := g.refreshToken(); !newer.IsEmpty() {
		asked.Secret = newer
	}
	err := g.checkKeeper(ctx)
	began := time.Now()
	var issued Token
	if err == nil {
		issued, err = g.by.Exchange(ctx, asked)
	}
	if err == nil && issued.Value.IsEmpty() {
		err = fmt.Errorf("no token in the answer: %w", secret.ErrUnavailable)
	}
	if err == nil {
		err = secret.CheckHeader(issued.Value.Reveal())
	}
	if err != nil && !errors.Is(err, secret.ErrDenied) && !errors.Is(err, secret.ErrUnavailable) && !errors.Is(err, secret.ErrNotFound) {
		// Not quoted: nothing vouches that it holds no value.
		err = fmt.Errorf("exchange failed with %T: %w", err, secret.ErrUnavailable)
	}
	g.settle(issued, began, err)
	g.save(ctx)
	return issued, err
}

// settle notes what an exchange came to.
func (g *grant) settle(issued Token, began time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failure = err; err != nil {
		g.retry = time.Now().Add(failureTTL/2 + rand.N(failureTTL)) //nolint:gosec // spreads retries, guards nothing
		return
	}
	if issued.Expires.IsZero() {
		issued.Expires = began.Add(unknownLife)
	}
	g.issued, g.began = issued, began
	if !issued.Refresh.IsEmpty() && !bytes.Equal(issued.Refresh.Reveal(), g.seed) {
		g.refresh, g.unsaved = issued.Refresh, g.keeper != nil
		g.saved = time.Time{}
		g.mine = append(g.mine, sha256.Sum256(issued.Refresh.Reveal()))
		g.mine = g.mine[max(0, len(g.mine)-maxMine):]
	}
}

// checkKeeper finds out whether a new refresh token could be written.
func (g *grant) checkKeeper(ctx context.Context) error {
	if g.keeper == nil {
		return nil
	}
	if err := g.keeper.CanKeep(ctx, g.name); err != nil {
		return fmt.Errorf("a new refresh token could not be kept, so none is asked for: %w", err)
	}
	return nil
}

// save writes a refresh token that isn't written yet. Until it is, it is kept
// in memory, and tried again.
func (g *grant) save(ctx context.Context) {
	g.mu.Lock()
	token, unsaved := g.refresh, g.unsaved
	g.saved = time.Now()
	g.mu.Unlock()
	if !unsaved || g.keeper.Keep(ctx, g.name, token.Reveal()) != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if bytes.Equal(token.Reveal(), g.refresh.Reveal()) {
		g.unsaved = false
	}
}

func (g *grant) refreshToken() secret.Value {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refresh
}

// drop gives a token up that an upstream refused, and reports whether another
// may be had.
func (g *grant) drop(token secret.Value) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !bytes.Equal(g.issued.Value.Reveal(), token.Reveal()) {
		return true // somebody else has, already
	}
	if time.Since(g.dropped) < dropPause {
		return false
	}
	g.dropped, g.issued = time.Now(), Token{}
	return true
}

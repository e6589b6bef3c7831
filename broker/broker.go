package broker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"github.com/sallyport/sallyport/inject/secret"
)

// How long things hold and take.
const (
	maxCached    = 5 * time.Minute  // one credential is handed out (decision 25)
	maxLife      = time.Hour        // one credential lives (ledger GB-6)
	minLeft      = 30 * time.Second // a cached credential must still live
	mintTime     = 30 * time.Second // one mint may take
	settleTime   = 10 * time.Second // a fresh credential may be refused by a replica
	refusedFor   = 10 * time.Second // a refusal is remembered
	faultFor     = 2 * time.Second  // a fault is remembered
	patience     = 5 * time.Second  // a forge's Retry-After is waited for
	defaultBurst = 20
)

// What Get answers besides credentials. Issuers' errors come through wrapped.
var (
	// ErrNotBrokered: no grant names the host; it is somebody else's business.
	ErrNotBrokered = errors.New("host isn't brokered")
	// ErrNotGranted: the host is brokered and the repository isn't granted.
	ErrNotGranted = errors.New("repository isn't granted")
	// ErrReadOnly: the repository is granted, but not to be written to.
	ErrReadOnly = errors.New("repository is granted to be read only")
	// ErrTooMany: the sandbox has had too many credentials minted.
	ErrTooMany = errors.New("too many credentials minted for this sandbox")
	// ErrClosed: the broker or the sandbox's boundary has closed.
	ErrClosed = errors.New("the broker is closed")
)

// Options of a Broker. Issuers and Lookup are required.
type Options struct {
	Issuers map[string]Issuer // by the name that grants use; not copied
	// Lookup returns the grants of a sandbox as they are now, nil if it isn't
	// there, and a channel that is closed when they may have changed.
	Lookup func(sandbox string) (*Grants, <-chan struct{})
	// Record takes each event; nil drops them. It is called concurrently.
	Record func(Event)
	// Mints is how many mints a second a sandbox may cause, after Burst at
	// once; zero means one a second after 20.
	Mints rate.Limit
	Burst int
	Log   *slog.Logger // nil discards
}

// Broker answers for all sandboxes. It is safe for concurrent use. Close it to
// revoke what is outstanding.
type Broker struct {
	options Options
	flights singleflight.Group
	stop    chan struct{}      // closed by Close
	ctx     context.Context    //nolint:containedctx // of mints and revocations, which outlive the request that began them
	cancel  context.CancelFunc // ends them
	work    sync.WaitGroup     // watchers, mints and revocations

	mu        sync.Mutex // guards what follows
	sandboxes map[string]*sandbox
	limited   map[string]time.Time // issuers that want to be left alone until then
	closed    bool
}

// New returns a Broker that has minted nothing yet.
func New(o Options) *Broker {
	o.Mints = cmp.Or(o.Mints, 1)
	o.Burst = cmp.Or(o.Burst, defaultBurst)
	if o.Record == nil {
		o.Record = func(Event) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Broker{
		options: o, stop: make(chan struct{}), ctx: ctx, cancel: cancel,
		sandboxes: map[string]*sandbox{}, limited: map[string]time.Time{},
	}
}

// Answer is a credential for git.
type Answer struct {
	Grant    Granted
	Access   Access // of the credential
	Username string
	Password secret.Value
	Expires  time.Time // never zero
	Fresh    bool      // minted for this question
}

// Get returns a credential with the given access, and no more, for the
// repository at host and path, as git names them, if a grant of the sandbox
// covers both. It waits for one mint at most.
func (b *Broker) Get(ctx context.Context, sandboxID, host, path string, access Access) (Answer, error) {
	grant, err := b.Find(ctx, sandboxID, host, path)
	if err != nil {
		return Answer{}, err
	}
	if access != Read && grant.Access != access {
		return Answer{}, ErrReadOnly
	}
	return b.answer(ctx, sandboxID, mintKey{grant, access})
}

// Find returns the grant that covers the repository at host and path. Only for
// one that may have moved is the forge asked.
func (b *Broker) Find(ctx context.Context, sandboxID, host, path string) (Granted, error) {
	grants, _ := b.options.Lookup(sandboxID)
	h, ok := requestHost(host)
	if !ok || !grants.Brokers(h) {
		return Granted{}, ErrNotBrokered
	}
	repository, err := CanonicalRepository(path)
	if err != nil {
		return Granted{}, fmt.Errorf("%w: %w", ErrNotGranted, err)
	}
	if grant, granted := grants.Find(h, repository); granted {
		return grant, nil
	}
	return b.moved(ctx, sandboxID, grants, place{h, repository})
}

// mintKey is what one credential is for.
type mintKey struct {
	Granted
	access Access
}

// answer returns a credential, from the cache or fresh.
func (b *Broker) answer(ctx context.Context, sandboxID string, of mintKey) (Answer, error) {
	s, err := b.sandbox(sandboxID)
	if err != nil {
		return Answer{}, err
	}
	if known, ok := s.cached(of, time.Now()); ok {
		return known.answer(false)
	}
	key := fmt.Sprintf("%s %+v", sandboxID, of)
	// Detached: the mint serves whoever waits for it.
	flight := b.flights.DoChan(key, func() (any, error) { return b.mint(s, of), nil })
	select {
	case result := <-flight:
		return result.Val.(outcome).answer(true)
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
}

// Erase drops the cached credential of a repository if passwordSHA256 is the
// hex digest of its password: git also reports passwords that it had from
// elsewhere. One that was minted a moment ago is kept, because a forge may
// refuse it until all of its replicas know it; so nobody can cause one mint
// after another.
func (b *Broker) Erase(sandboxID, host, path, passwordSHA256 string) {
	grants, _ := b.options.Lookup(sandboxID)
	h, ok := requestHost(host)
	repository, err := CanonicalRepository(path)
	if !ok || err != nil {
		return
	}
	grant, granted := grants.Find(h, repository)
	b.mu.Lock()
	s := b.sandboxes[sandboxID]
	b.mu.Unlock()
	if granted && s != nil {
		s.drop(grant, passwordSHA256, time.Now())
	}
}

// Holds reports whether a password is that of a credential which the sandbox was
// handed for the grant and which may still be accepted.
func (b *Broker) Holds(sandboxID string, grant Granted, password []byte) bool {
	b.mu.Lock()
	s := b.sandboxes[sandboxID]
	b.mu.Unlock()
	return s != nil && len(password) > 0 && s.holds(grant, password)
}

// moved finds the grant of a repository that isn't granted by this name, but is what
// a granted one is called by now: git follows the forge's redirect and asks
// again with the new name.
func (b *Broker) moved(ctx context.Context, sandboxID string, grants *Grants, at place) (Granted, error) {
	for _, grant := range grants.All() {
		mover, can := b.options.Issuers[grant.Issuer].(Mover)
		if !can || grant.Host != at.host {
			continue
		}
		s, err := b.sandbox(sandboxID)
		if err != nil {
			return Granted{}, err
		}
		if !s.hasMoved(ctx, mover, grant) {
			continue
		}
		reads := mintKey{grant, Read}
		if _, err := b.answer(ctx, sandboxID, reads); err == nil && s.nameOf(reads) == at.repository {
			return grant, nil
		}
	}
	return Granted{}, ErrNotGranted
}

// sandbox returns the state of a sandbox, and starts to watch one that is new.
func (b *Broker) sandbox(id string) (*sandbox, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, ErrClosed
	}
	s := b.sandboxes[id]
	if s == nil {
		s = newSandbox(id, rate.NewLimiter(b.options.Mints, b.options.Burst))
		b.sandboxes[id] = s
		b.work.Go(func() { b.watch(s) })
	}
	return s, nil
}

// mint has a credential issued and takes it into the sandbox's books.
func (b *Broker) mint(s *sandbox, of mintKey) outcome {
	if known, ok := s.cached(of, time.Now()); ok {
		return known // minted between the caller's look and now
	}
	if !b.begin() {
		return outcome{err: ErrClosed}
	}
	defer b.work.Done()
	ctx, cancel := context.WithTimeout(b.ctx, mintTime)
	defer cancel()
	began := time.Now()
	got, err := b.issue(ctx, s, of)
	result := outcome{of: of, credential: got, minted: began, until: began.Add(maxCached), err: err}
	if err != nil {
		result.until = time.Now().Add(lasts(err))
		b.options.Record(Event{Kind: MintFailed, Sandbox: s.id, Grant: of.Granted, Access: of.access, Err: err})
		s.remember(result)
		return result
	}
	end := began.Add(maxLife)
	if !got.Expires.IsZero() && got.Expires.Before(end) {
		end = got.Expires
	}
	if early := end.Add(-minLeft); early.Before(result.until) {
		result.until = early
	}
	result.ends = end
	b.options.Record(Event{Kind: Minted, Sandbox: s.id, Grant: of.Granted, Access: of.access, Expires: end, TokenHash: TokenHash(got.Password)})
	if !b.keep(s, result) {
		b.revoke(s.id, result)
		return outcome{err: ErrClosed}
	}
	return result
}

// begin registers work unless the broker has closed.
func (b *Broker) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.work.Add(1)
	return true
}

// lasts is how long a failure is remembered.
func lasts(err error) time.Duration {
	switch {
	case errors.Is(err, ErrTooMany):
		return 0
	case errors.Is(err, ErrRefused), errors.Is(err, ErrMisconfigured):
		return refusedFor
	default:
		return faultFor
	}
}

// digest is the hex SHA-256 of a password.
func digest(v secret.Value) string {
	sum := sha256.Sum256(v.Reveal())
	return hex.EncodeToString(sum[:])
}

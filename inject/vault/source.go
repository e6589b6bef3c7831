package vault

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/sallyport/sallyport/inject/secret"
)

// loginPause is how long a failed login stands for those that follow it.
const loginPause = 500 * time.Millisecond

// Source reads secrets of one Vault. It is safe for concurrent use.
type Source struct {
	options Options
	door    *door
	mounts  mounts
	logins  singleflight.Group
	issues  singleflight.Group // of leases

	mu         sync.Mutex // guards what follows
	current    *session   // nil: log in first
	loginErr   error      // of the last login, which counts until loginAfter
	loginAfter time.Time
	retired    []retired
}

// retired is a session that another has taken the place of. Its leases may be
// in use for a little longer.
type retired struct {
	session *session
	until   time.Time
}

var _ secret.Source = (*Source)(nil)

// New returns a Source. It asks nothing yet; the error says what is wrong with
// o.
func New(o Options) (*Source, error) {
	o, err := o.complete()
	if err != nil {
		return nil, fmt.Errorf("configure vault: %w", err)
	}
	return &Source{options: o, door: &door{options: o}}, nil
}

// Read implements [secret.Source]; name is MOUNT/PATH#FIELD. The version is
// the key/value engine's own, or the end of the lease's id; a first-version
// key/value engine has none.
func (s *Source) Read(ctx context.Context, text string) (secret.Secret, error) {
	found, err := s.read(ctx, text)
	if err != nil {
		return secret.Secret{}, fmt.Errorf("read vault secret %q: %w", text, err)
	}
	return found, nil
}

func (s *Source) read(ctx context.Context, text string) (secret.Secret, error) {
	n, err := parseName(text)
	if err != nil {
		return secret.Secret{}, err
	}
	if err := ctx.Err(); err != nil {
		return secret.Secret{}, fault(err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	boundary := secret.BoundaryOf(ctx)
	var found secret.Secret
	err = s.with(ctx, boundary, func(sess *session, held *holder) error {
		var err error
		found, err = s.ask(ctx, sess, held, n)
		return err
	})
	return found, err
}

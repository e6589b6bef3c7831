package secret

import "context"

// Keeper is a [Source] that takes new values too: refresh tokens replace
// themselves when they are used. Errors are those of a Source.
type Keeper interface {
	Source
	// CanKeep finds out whether Keep would work now, and changes nothing.
	CanKeep(ctx context.Context, name string) error
	// Keep makes value the next version of the secret called name, durably if
	// the source is.
	Keep(ctx context.Context, name string, value []byte) error
}

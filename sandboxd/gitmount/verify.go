package gitmount

import (
	"context"
	"errors"

	"github.com/sallyport/sallyport/sandboxd/githelper"
	"github.com/sallyport/sallyport/sandboxd/inside"
)

// Verify follows the credential of each mount that has one, from the helper in
// the sandbox to the forge (ledger GB-9). It belongs before the first turn. The
// error is an *[Error] of [CodeAuth] whose step is githelper's, unless the
// sandbox itself fails.
func Verify(ctx context.Context, run inside.Runner, mounts []Mount) error {
	for _, m := range mounts {
		if m.Auth == nil {
			continue
		}
		granted, err := m.granted()
		if err != nil {
			return err
		}
		err = githelper.Verify(ctx, run, granted)
		var v *githelper.VerifyError
		if errors.As(err, &v) {
			return m.fail(CodeAuth, Step(v.Step), v.Message, v.Detail)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

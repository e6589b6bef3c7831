package vault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/vault/api"

	"github.com/sallyport/sallyport/inject/secret"
)

// ask reads one field for a boundary, as the mount's engine wants to be asked.
// If nothing is there, what was remembered of the mount may be out of date.
func (s *Source) ask(ctx context.Context, sess *session, held *holder, n name) (secret.Secret, error) {
	at, remembered, err := s.mounts.find(ctx, held.client, n.path)
	if err != nil {
		return secret.Secret{}, err
	}
	found, err := s.askMount(ctx, sess, held, at, n)
	if !remembered || status(err) != 404 && !errors.Is(err, secret.ErrNotFound) {
		return found, err
	}
	s.mounts.forget(at)
	now, _, findErr := s.mounts.find(ctx, held.client, n.path)
	if findErr != nil {
		return secret.Secret{}, findErr
	}
	if now == at {
		return found, err
	}
	return s.askMount(ctx, sess, held, now, n)
}

func (s *Source) askMount(ctx context.Context, sess *session, held *holder, at mount, n name) (secret.Secret, error) {
	switch at.kind {
	case kv1:
		return readKV1(ctx, held.client, at, n)
	case kv2:
		return readKV2(ctx, held.client, at, n)
	default:
		return s.readLeased(ctx, sess, held, n)
	}
}

// readKV1 ignores the lease duration in the answer: it is a hint how often to
// read again, and no lease.
func readKV1(ctx context.Context, c *api.Client, at mount, n name) (secret.Secret, error) {
	answer, err := c.KVv1(strings.TrimSuffix(at.path, "/")).Get(ctx, n.path[len(at.path):])
	if err != nil {
		return secret.Secret{}, absent(err)
	}
	value, err := pick(answer.Data, n.field)
	return secret.Secret{Value: value}, err
}

// readKV2 reads the current version; one that was deleted or destroyed is not
// there.
func readKV2(ctx context.Context, c *api.Client, at mount, n name) (secret.Secret, error) {
	answer, err := c.KVv2(strings.TrimSuffix(at.path, "/")).Get(ctx, n.path[len(at.path):])
	if err != nil {
		return secret.Secret{}, absent(err)
	}
	if answer.Data == nil || answer.VersionMetadata == nil {
		return secret.Secret{}, fmt.Errorf("current version is deleted: %w", secret.ErrNotFound)
	}
	value, err := pick(answer.Data, n.field)
	return secret.Secret{Value: value, Version: strconv.Itoa(answer.VersionMetadata.Version)}, err
}

// absent maps the client's own error for 404.
func absent(err error) error {
	if errors.Is(err, api.ErrSecretNotFound) {
		return fmt.Errorf("server answered 404: %w", secret.ErrNotFound)
	}
	return err
}

// pick returns the text of a field.
func pick(data map[string]any, field string) (secret.Value, error) {
	raw, ok := data[field]
	if !ok {
		return secret.Value{}, fmt.Errorf("no field %q: %w", field, secret.ErrNotFound)
	}
	var text string
	switch v := raw.(type) {
	case string:
		text = v
	case json.Number:
		text = v.String()
	default:
		return secret.Value{}, fmt.Errorf("field %q holds no text: %w", field, secret.ErrUnavailable)
	}
	if err := secret.CheckSize([]byte(text)); err != nil {
		return secret.Value{}, err
	}
	return secret.NewValue([]byte(text)), nil
}

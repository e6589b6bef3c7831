package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"filippo.io/age"

	"github.com/sallyport/sallyport/inject/secret"
)

// header is the first line of each plaintext. It ties the file to its place: a
// version restored or copied under another name doesn't pass for that secret.
func header(name string, v version) []byte {
	return fmt.Appendf(nil, "%s %s\n", name, v)
}

// encrypt returns the age file of one version. The exclusive lock must be held.
func (s *Store) encrypt(name string, v version, value []byte) ([]byte, error) {
	identity, err := s.identity()
	if errors.Is(err, fs.ErrNotExist) {
		identity, err = s.newIdentity()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", secret.ErrUnavailable, err)
	}
	var encrypted bytes.Buffer
	w, err := age.Encrypt(&encrypted, identity.Recipient())
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	_, err = w.Write(append(header(name, v), value...))
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	return encrypted.Bytes(), nil
}

// decrypt returns the value in the age file of one version.
func (s *Store) decrypt(name string, v version, encrypted []byte) ([]byte, error) {
	identity, err := s.identity()
	if err != nil {
		// Not ErrNotFound: the secret is there, and can't be read.
		return nil, fmt.Errorf("%w: %w", secret.ErrUnavailable, err)
	}
	r, err := age.Decrypt(bytes.NewReader(encrypted), identity)
	if err != nil {
		return nil, fmt.Errorf("decrypt version %s: %w: %w", v, secret.ErrUnavailable, err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, 2*secret.MaxValue))
	if err != nil {
		return nil, fmt.Errorf("decrypt version %s: %w: %w", v, secret.ErrUnavailable, err)
	}
	value, ok := bytes.CutPrefix(plain, header(name, v))
	if !ok {
		return nil, fmt.Errorf("decrypt version %s: the file belongs to another secret or version: %w", v, secret.ErrUnavailable)
	}
	return value, nil
}

// identity reads the key. Its absence is fs.ErrNotExist; errors are not yet
// those of package secret.
func (s *Store) identity() (*age.X25519Identity, error) {
	if info, err := os.Stat(s.state); err == nil && info.Mode().Perm()&0o002 != 0 {
		return nil, fmt.Errorf("everyone may write to %s, and so may have put the key there", s.state)
	}
	f, err := os.Open(s.key)
	if err != nil {
		return nil, fmt.Errorf("open key: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open key: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("key %s has mode %04o, want 0600", s.key, mode)
	}
	identities, err := age.ParseIdentities(io.LimitReader(f, 4096))
	if err != nil || len(identities) != 1 {
		// Without age's error, which may quote the line.
		return nil, fmt.Errorf("key %s does not hold exactly one age identity", s.key)
	}
	identity, ok := identities[0].(*age.X25519Identity)
	if !ok {
		return nil, fmt.Errorf("key %s is no X25519 identity", s.key)
	}
	return identity, nil
}

// newIdentity makes the key of a new store. A store that has values already
// has lost its key; another would hide that until the first read.
func (s *Store) newIdentity() (*age.X25519Identity, error) {
	switch filled, err := s.hasValues(); {
	case err != nil:
		return nil, err
	case filled:
		return nil, fmt.Errorf("key %s is missing, and there are secrets under it", s.key)
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	if err := s.writeDurably(s.key, []byte(identity.String()+"\n")); err != nil {
		return nil, fmt.Errorf("write key: %w", err)
	}
	return identity, nil
}

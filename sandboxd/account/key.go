package account

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"strings"
)

// keyPrefix lets people and scanners of leaked secrets recognise a key.
const keyPrefix = "sp_"

// keyBytes of randomness make a key that can't be guessed, so that a plain
// digest of it needs no salt and no stretching.
const keyBytes = 32

var keyEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// ErrKey is the error of a text that can't be an API key.
var ErrKey = errors.New("not an API key")

// NewKey returns a new key and its digest. Only the digest is stored.
func NewKey() (key string, digest [32]byte) {
	random := make([]byte, keyBytes)
	_, _ = rand.Read(random) // never fails: it ends the process instead
	key = keyPrefix + keyEncoding.EncodeToString(random)
	return key, sha256.Sum256([]byte(key))
}

// Digest returns the digest of a key by which its record is found, or ErrKey.
// Looking a record up by it tells nobody who measures time anything about the
// key: digests of similar keys have nothing in common.
func Digest(key string) ([32]byte, error) {
	text, ok := strings.CutPrefix(key, keyPrefix)
	if !ok || len(text) != keyEncoding.EncodedLen(keyBytes) {
		return [32]byte{}, ErrKey
	}
	// Decoding skips line breaks, and the last character has bits to spare: only
	// the spelling that was handed out is a key.
	random, err := keyEncoding.DecodeString(text)
	if err != nil || keyEncoding.EncodeToString(random) != text {
		return [32]byte{}, ErrKey
	}
	return sha256.Sum256([]byte(key)), nil
}

// Matches reports in constant time whether digest is that of the key's record.
func (k Key) Matches(digest [32]byte) bool {
	return subtle.ConstantTimeCompare(k.Digest[:], digest[:]) == 1
}

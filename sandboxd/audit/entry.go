// Package audit is the record of control actions: who changed what, from what
// to what, in an order that can't be changed afterwards without it showing.
//
// Each entry is sealed by a digest over its own bytes and the digest of the
// entry before it. The entries and the head of the chain are kept by package
// store, in the transaction that makes the change; this package makes and
// checks them, and knows nothing of databases.
//
// Security promise: an entry that was edited, removed or moved is found by
// Verify, and so is the removal of the last ones, as long as the head is known:
// the store keeps it apart from the entries, and whoever fears an attacker who
// can write both keeps a head elsewhere and passes it to Verify.
package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Digest is the SHA-256 that seals an entry and all before it.
type Digest [sha256.Size]byte

// MarshalText returns the digest in hexadecimal.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText is the reverse of MarshalText.
func (d *Digest) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != len(d) {
		return fmt.Errorf("read digest: expected %d hexadecimal characters", 2*len(d))
	}
	copy(d[:], raw)
	return nil
}

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// An Actor is who did it.
type Actor struct {
	UserID string `json:"user_id,omitempty"` // empty: the service itself
	KeyID  string `json:"key_id,omitempty"`
	Role   string `json:"role,omitempty"`
}

// A Change is one setting before and after, as JSON. An absent value is nil.
type Change struct {
	Field string          `json:"field"`
	Old   json.RawMessage `json:"old,omitempty"`
	New   json.RawMessage `json:"new,omitempty"`
}

// An Entry is one control action. It names secrets; it never holds one.
type Entry struct {
	At             time.Time `json:"at"`
	OrganizationID string    `json:"organization_id,omitempty"`
	Actor          Actor     `json:"actor"`
	Action         string    `json:"action"`            // such as "environment.update"
	Subject        string    `json:"subject,omitempty"` // id of what it was done to
	RequestID      string    `json:"request_id,omitempty"`
	Changes        []Change  `json:"changes,omitempty"`
}

// A Head is the end of a chain: the sequence number of its last entry and the
// digest that seals all of it. The zero value is that of an empty chain.
type Head struct {
	Sequence int64  `json:"sequence"`
	Digest   Digest `json:"digest"`
}

// A Link is an entry in its place in the chain. Body holds the bytes that are
// sealed: they are kept as they are and never encoded again, so that a later
// version of the program with more fields still finds the old digests true.
type Link struct {
	Sequence int64           `json:"sequence"` // from 1, without gaps
	Previous Digest          `json:"previous"`
	Digest   Digest          `json:"digest"`
	Body     json.RawMessage `json:"entry"`
}

// Seal returns the link that continues the chain that ends in head.
func Seal(head Head, e Entry) (Link, error) {
	e.At = e.At.UTC()
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		return Link{}, fmt.Errorf("encode audit entry: %w", err)
	}
	link := Link{Sequence: head.Sequence + 1, Previous: head.Digest, Body: bytes.TrimSpace(body.Bytes())}
	link.Digest = seal(link)
	return link, nil
}

// Head returns the head of a chain whose last link is l.
func (l Link) Head() Head { return Head{Sequence: l.Sequence, Digest: l.Digest} }

// Entry decodes what the link seals.
func (l Link) Entry() (Entry, error) {
	var e Entry
	if err := json.Unmarshal(l.Body, &e); err != nil {
		return Entry{}, fmt.Errorf("decode audit entry %d: %w", l.Sequence, err)
	}
	return e, nil
}

// seal is SHA-256 over the previous digest, the sequence number in eight bytes,
// most significant first, and the body. The first two have a fixed length, so
// no two links have the same input.
func seal(l Link) Digest {
	h := sha256.New()
	h.Write(l.Previous[:])
	var sequence [8]byte
	for i := range sequence {
		sequence[i] = byte(l.Sequence >> (8 * (7 - i)))
	}
	h.Write(sequence[:])
	h.Write(l.Body)
	return Digest(h.Sum(nil))
}

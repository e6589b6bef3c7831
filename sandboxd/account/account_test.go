package account_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/sandboxd/account"
)

// Ledger: AP-2
func TestRoles(t *testing.T) {
	t.Parallel()
	cases := []struct {
		have, least account.Role
		want        bool
	}{
		{account.Viewer, account.Viewer, true},
		{account.Viewer, account.Member, false},
		{account.Viewer, account.Admin, false},
		{account.Member, account.Viewer, true},
		{account.Member, account.Member, true},
		{account.Member, account.Admin, false},
		{account.Admin, account.Viewer, true},
		{account.Admin, account.Member, true},
		{account.Admin, account.Admin, true},
		{"", account.Viewer, false},
		{"owner", account.Viewer, false},
		{account.Admin, "", false},
		{"", "", false},
		{"owner", "owner", false},
	}
	for _, c := range cases {
		if got := c.have.May(c.least); got != c.want {
			t.Errorf("%q may %q: %v", c.have, c.least, got)
		}
	}
}

func TestKeysAreFoundByTheirDigest(t *testing.T) {
	t.Parallel()
	key, digest := account.NewKey()
	if !strings.HasPrefix(key, "sp_") || len(key) != 55 {
		t.Errorf("key %q", key)
	}
	got, err := account.Digest(key)
	if err != nil || got != digest {
		t.Errorf("digest %x, %v", got, err)
	}
	record := account.Key{Digest: digest}
	if !record.Matches(got) || record.Matches([32]byte{}) || (account.Key{}).Matches(got) {
		t.Error("a record matches another key's digest")
	}
	if other, _ := account.NewKey(); other == key {
		t.Error("two keys are the same")
	}
}

func TestWhatIsNoKey(t *testing.T) {
	t.Parallel()
	key, _ := account.NewKey()
	for _, text := range []string{"", "sp_", key[3:], key + "0", key[:54], "xx_" + key[3:], strings.ToUpper(key), key[:54] + "!", key[:54] + "\n"} {
		if _, err := account.Digest(text); !errors.Is(err, account.ErrKey) {
			t.Errorf("Digest(%q): %v", text, err)
		}
	}
}

func TestKeysEnd(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cases := []struct {
		name string
		key  account.Key
		want bool
	}{
		{"for ever", account.Key{}, true},
		{"not yet expired", account.Key{ExpiresAt: now.Add(time.Nanosecond)}, true},
		{"expires now", account.Key{ExpiresAt: now}, false},
		{"expired", account.Key{ExpiresAt: now.Add(-time.Hour)}, false},
		{"revoked", account.Key{RevokedAt: now.Add(-time.Hour)}, false},
		{"revoked before it expires", account.Key{RevokedAt: now, ExpiresAt: now.Add(time.Hour)}, false},
	}
	for _, c := range cases {
		if got := c.key.Usable(now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

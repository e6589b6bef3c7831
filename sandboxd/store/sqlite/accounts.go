package sqlite

import (
	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/store"
)

func (t tx) Organizations() ([]account.Organization, error) {
	return list[account.Organization](t, "organisations", "SELECT record FROM organizations ORDER BY id")
}

func (t tx) PutOrganization(o account.Organization) error {
	record, err := encode(o)
	if err != nil {
		return err
	}
	n, err := t.exec(`INSERT INTO organizations (id, record) VALUES (?, ?)
		ON CONFLICT (id) DO UPDATE SET record = excluded.record`, o.ID, record)
	return changed(n, err, "save organisation")
}

func (t tx) User(organizationID, id string) (account.User, error) {
	return one[account.User](t, "user", "SELECT record FROM users WHERE id = ? AND organization_id = ?", id, organizationID)
}

func (t tx) PutUser(u account.User) error {
	record, err := encode(u)
	if err != nil {
		return err
	}
	n, err := t.exec(`INSERT INTO users (id, organization_id, record) VALUES (?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET record = excluded.record WHERE organization_id = excluded.organization_id`,
		u.ID, u.OrganizationID, record)
	return changed(n, err, "save user")
}

func (t tx) Key(organizationID, id string) (account.Key, error) {
	return one[account.Key](t, "key", "SELECT record FROM keys WHERE id = ? AND organization_id = ?", id, organizationID)
}

func (t tx) KeyByDigest(digest [32]byte) (account.Key, error) {
	return one[account.Key](t, "key", "SELECT record FROM keys WHERE digest = ?", digest[:])
}

func (t tx) Keys(organizationID string, q store.PageQuery) (store.Page[account.Key], error) {
	return page(t, "keys", "FROM keys WHERE organization_id = ?", []any{organizationID}, q,
		func(k account.Key) string { return k.ID })
}

func (t tx) PutKey(k account.Key) error {
	record, err := encode(k)
	if err != nil {
		return err
	}
	n, err := t.exec(`INSERT INTO keys (id, organization_id, digest, record) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET record = excluded.record
		WHERE organization_id = excluded.organization_id AND digest = excluded.digest`,
		k.ID, k.OrganizationID, k.Digest[:], record)
	return changed(n, err, "save key")
}

package sandboxd

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/id"
	"github.com/sallyport/sallyport/sandboxd/store"
)

// Authenticate returns whom a request with an API key is from. Whatever is
// wrong with the key, the fault is the same.
func (s *Service) Authenticate(ctx context.Context, key string) (account.Caller, error) {
	refused := fault.New(fault.Unauthenticated, "send a valid API key: Authorization: Bearer sp_...")
	digest, err := account.Digest(key)
	if err != nil {
		return account.Caller{}, refused
	}
	var found account.Key
	err = s.o.Store.View(ctx, func(r store.Reader) (err error) {
		found, err = r.KeyByDigest(digest)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return account.Caller{}, refused
	case err != nil:
		return account.Caller{}, err
	case !found.Matches(digest) || !found.Usable(s.o.Clock()):
		return account.Caller{}, refused
	}
	return found.Caller(), nil
}

// DefaultOrganization is the name of the organisation that a new store gets.
const DefaultOrganization = "default"

// Bootstrap returns a new admin key of the default organisation, which it makes
// in an empty store.
func (s *Service) Bootstrap(ctx context.Context) (key string, err error) {
	err = s.o.Store.Update(ctx, func(w store.Writer) error {
		all, err := w.Organizations()
		if err != nil {
			return err
		}
		var admin account.User
		if len(all) == 0 {
			if admin, err = s.organize(w); err != nil {
				return err
			}
		} else {
			admin = account.User{OrganizationID: all[0].ID}
			if admin.ID, err = firstAdmin(w, all[0].ID); err != nil {
				return err
			}
		}
		var k account.Key
		key, k = s.newKey(admin.OrganizationID, admin.ID, "admin", account.Admin, time.Time{})
		c := account.Caller{OrganizationID: admin.OrganizationID}
		return errors.Join(w.PutKey(k), w.Audit(s.entry(c, "api_key.create", k.ID)))
	})
	return key, err
}

// organize makes the default organisation and its first user.
func (s *Service) organize(w store.Writer) (account.User, error) {
	now := s.now()
	o := account.Organization{ID: s.o.IDs.New(id.Organization), Name: DefaultOrganization, CreatedAt: now}
	u := account.User{ID: s.o.IDs.New(id.User), OrganizationID: o.ID, Name: "admin", CreatedAt: now}
	c := account.Caller{OrganizationID: o.ID}
	return u, errors.Join(w.PutOrganization(o), w.PutUser(u), w.Audit(s.entry(c, "organization.create", o.ID)))
}

// firstAdmin is the user of the oldest admin key.
func firstAdmin(r store.Reader, organizationID string) (string, error) {
	user, q := "", store.PageQuery{Limit: 100}
	for {
		page, err := r.Keys(organizationID, q)
		if err != nil {
			return "", err
		}
		for _, k := range page.Items {
			if k.Role == account.Admin {
				user = k.UserID
			}
		}
		if page.Next == "" {
			return user, nil
		}
		q.After = page.Next
	}
}

func (s *Service) newKey(organizationID, userID, name string, role account.Role, expires time.Time) (string, account.Key) {
	key, digest := account.NewKey()
	return key, account.Key{
		ID: s.o.IDs.New(id.Key), OrganizationID: organizationID, UserID: userID, Name: name, Role: role,
		Digest: digest, CreatedAt: s.now(), ExpiresAt: expires,
	}
}

// maxKeyName bounds what a key is called, in characters.
const maxKeyName = 256

// CreateAPIKey makes a key of the caller's and returns it, this once, with its
// record. A zero expiry means never.
func (s *Service) CreateAPIKey(ctx context.Context, c account.Caller, name string, role account.Role, expires time.Time) (string, account.Key, error) {
	if err := may(c, account.Admin); err != nil {
		return "", account.Key{}, err
	}
	switch {
	case utf8.RuneCountInString(name) > maxKeyName:
		return "", account.Key{}, fault.Invalid("name", "must have at most %d characters", maxKeyName)
	case !role.May(account.Viewer):
		return "", account.Key{}, fault.Invalid("role", "must be viewer, member or admin")
	case !expires.IsZero() && !expires.After(s.now()):
		return "", account.Key{}, fault.Invalid("expires_at", "must lie in the future")
	}
	key, k := s.newKey(c.OrganizationID, c.UserID, name, role, expires)
	err := s.o.Store.Update(ctx, func(w store.Writer) error {
		k.ID = s.o.IDs.New(id.Key) // in the order of the list
		granted, err := change("role", nil, role)
		if err != nil {
			return err
		}
		return errors.Join(w.PutKey(k), w.Audit(s.entry(c, "api_key.create", k.ID, granted)))
	})
	return key, k, err
}

// ListAPIKeys lists the organisation's keys, the newest first, revoked ones
// included.
func (s *Service) ListAPIKeys(ctx context.Context, c account.Caller, q store.PageQuery) (page store.Page[account.Key], err error) {
	if err := may(c, account.Admin); err != nil {
		return page, err
	}
	err = s.o.Store.View(ctx, func(r store.Reader) (err error) {
		page, err = r.Keys(c.OrganizationID, q)
		return err
	})
	return page, err
}

// RevokeAPIKey ends a key at once. Revoking twice is no error.
func (s *Service) RevokeAPIKey(ctx context.Context, c account.Caller, id string) error {
	if err := may(c, account.Admin); err != nil {
		return err
	}
	return s.o.Store.Update(ctx, func(w store.Writer) error {
		k, err := w.Key(c.OrganizationID, id)
		if err != nil {
			return notFound(err, "API key", id)
		}
		if !k.RevokedAt.IsZero() {
			return nil
		}
		k.RevokedAt = s.now()
		return errors.Join(w.PutKey(k), w.Audit(s.entry(c, "api_key.revoke", id)))
	})
}

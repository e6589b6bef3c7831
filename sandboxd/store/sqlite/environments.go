package sqlite

import (
	"fmt"

	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/store"
)

func (t tx) Environment(organizationID, id string) (environment.Environment, error) {
	return one[environment.Environment](t, "environment",
		"SELECT record FROM environments WHERE id = ? AND organization_id = ?", id, organizationID)
}

func (t tx) Environments(organizationID string, q store.EnvironmentQuery) (store.Page[environment.Environment], error) {
	from, args := "FROM environments WHERE organization_id = ?", []any{organizationID}
	if q.NamePrefix != "" {
		from += " AND substr(name, 1, length(?)) = ?"
		args = append(args, q.NamePrefix, q.NamePrefix)
	}
	return page(t, "environments", from, args, q.PageQuery, func(e environment.Environment) string { return e.ID })
}

func (t tx) PutEnvironment(e environment.Environment) error {
	record, err := encode(e)
	if err != nil {
		return err
	}
	n, err := t.exec(`INSERT INTO environments (id, organization_id, name, record) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, record = excluded.record
		WHERE organization_id = excluded.organization_id`,
		e.ID, e.OrganizationID, e.Definition.Name, record)
	return changed(n, err, "save environment")
}

func (t tx) DeleteEnvironment(organizationID, id string) error {
	n, err := t.exec("DELETE FROM environments WHERE id = ? AND organization_id = ?", id, organizationID)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("delete environment: %w", err)
	}
	if _, err := t.exec("DELETE FROM standings WHERE environment_id = ?", id); err != nil {
		return fmt.Errorf("delete environment: %w", err)
	}
	return nil
}

// changed is the error of a statement that had to change one row. It changes
// none when a record belongs to another organisation or must not change.
func changed(n int64, err error, what string) error {
	if err == nil && n != 1 {
		err = fmt.Errorf("%d records changed", n)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport/sallyport/sandboxd/store"
)

func (t tx) FirstResult(organizationID, key string) (store.FirstResult, error) {
	r := store.FirstResult{OrganizationID: organizationID, Key: key}
	var at int64
	var request []byte
	err := t.sql.QueryRowContext(t.ctx, "SELECT at, request, result FROM first_results WHERE organization_id = ? AND key = ?",
		organizationID, key).Scan(&at, &request, &r.Result)
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.FirstResult{}, fmt.Errorf("read first result: %w", err)
	}
	copy(r.Request[:], request)
	r.At = time.UnixMilli(at).UTC()
	return r, nil
}

func (t tx) PutFirstResult(r store.FirstResult) error {
	n, err := t.exec("INSERT OR REPLACE INTO first_results (organization_id, key, at, request, result) VALUES (?, ?, ?, ?, ?)",
		r.OrganizationID, r.Key, r.At.UnixMilli(), r.Request[:], r.Result)
	return changed(n, err, "save first result")
}

func (t tx) ForgetFirstResults(before time.Time) error {
	if _, err := t.exec("DELETE FROM first_results WHERE at < ?", before.UnixMilli()); err != nil {
		return fmt.Errorf("forget first results: %w", err)
	}
	return nil
}

package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport/sallyport/sandboxd/store"
)

// tx is a transaction. It keeps the context that it was begun with, for it
// lives no longer than the call that has it.
type tx struct {
	ctx context.Context //nolint:containedctx // a transaction is bound to one call
	sql *sql.Tx
}

var _ store.Writer = tx{}

// View implements store.Store.
func (s *Store) View(ctx context.Context, f func(store.Reader) error) error {
	return run(ctx, s.read, func(t tx) error { return f(t) })
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, f func(store.Writer) error) error {
	if s.write == nil {
		return errors.New("the store was opened to read only")
	}
	return run(ctx, s.write, func(t tx) error { return f(t) })
}

func run(ctx context.Context, db *sql.DB, f func(tx) error) (err error) {
	t, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	// Also when f panics; after a commit it does nothing.
	defer func() {
		if e := t.Rollback(); e != nil && !errors.Is(e, sql.ErrTxDone) && ctx.Err() == nil {
			err = errors.Join(err, fmt.Errorf("roll back: %w", e))
		}
	}()
	if err := f(tx{ctx, t}); err != nil {
		return err
	}
	if err := t.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// exec runs a statement and returns how many rows it changed.
func (t tx) exec(query string, args ...any) (int64, error) {
	result, err := t.sql.ExecContext(t.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// one decodes the record of the only row of a query.
func one[T any](t tx, what, query string, args ...any) (T, error) {
	all, err := list[T](t, what, query, args...)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s: %w", what, store.ErrNotFound)
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return all[0], nil
}

// list decodes the records of the rows of a query.
func list[T any](t tx, what, query string, args ...any) (_ []T, err error) {
	rows, err := t.sql.QueryContext(t.ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var record []byte
		if err := rows.Scan(&record); err != nil {
			return nil, fmt.Errorf("read %s: %w", what, err)
		}
		item, err := decode[T](record)
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", what, err)
		}
		all = append(all, item)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return all, nil
}

// texts returns the rows of a query for one column of text.
func (t tx) texts(query string, args ...any) ([]string, error) {
	rows, err := t.sql.QueryContext(t.ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// page reads a page of the records that from selects, the newest first. idOf
// returns an item's id.
func page[T any](t tx, what, from string, args []any, q store.PageQuery, idOf func(T) string) (store.Page[T], error) {
	if q.Limit < 1 {
		return store.Page[T]{}, fmt.Errorf("list %s: limit %d", what, q.Limit)
	}
	query := "SELECT record " + from
	if q.After != "" {
		query += " AND id < ?"
		args = append(args, q.After)
	}
	args = append(args, q.Limit+1)
	all, err := list[T](t, what, query+" ORDER BY id DESC LIMIT ?", args...)
	if err != nil {
		return store.Page[T]{}, err
	}
	p := store.Page[T]{Items: all}
	if len(all) > q.Limit {
		p.Items = all[:q.Limit]
		p.Next = idOf(p.Items[q.Limit-1])
	}
	return p, nil
}

// encode writes a record. Its form is that of encoding/json for the type, which
// a golden test holds.
func encode(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("encode record: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// decode refuses members that the type doesn't have: they would be lost when
// the record is written again.
func decode[T any](record []byte) (T, error) {
	var v T
	d := json.NewDecoder(strings.NewReader(string(record)))
	d.DisallowUnknownFields()
	err := d.Decode(&v)
	return v, err
}

// marks returns n question marks for a list in a query.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

func anys[T any](items []T) []any {
	all := make([]any, len(items))
	for i, item := range items {
		all[i] = item
	}
	return all
}

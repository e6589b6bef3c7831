package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/audit"
	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/setup"
)

// Backup implements store.Store.
func (s *Store) Backup(ctx context.Context, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("back up the store: %s exists already", path)
	}
	// Nobody finds half a backup under its name, or one that others can read.
	dir, err := os.MkdirTemp(filepath.Dir(path), ".backup-")
	if err != nil {
		return fmt.Errorf("back up the store: %w", err)
	}
	defer os.RemoveAll(dir)
	temporary := filepath.Join(dir, "copy")
	if err := s.copyTo(ctx, temporary); err != nil {
		return fmt.Errorf("back up the store: %w", err)
	}
	if err := seal(temporary); err != nil {
		return fmt.Errorf("back up the store: %w", err)
	}
	// A link, unlike a rename, doesn't replace what was made meanwhile.
	if err := os.Link(temporary, path); err != nil {
		return fmt.Errorf("back up the store: %w", err)
	}
	return nil
}

// copyTo has a connection of its own: those that read may write no file, and
// the one that writes has better things to do.
func (s *Store) copyTo(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", dsn(s.path, "deferred"))
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", path)
	return err
}

// seal makes a file its owner's and writes it through to the disk.
func seal(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return errors.Join(f.Chmod(0o600), f.Sync())
}

// Check implements store.Store. It joins all that it finds.
func (s *Store) Check(ctx context.Context) error {
	return run(ctx, s.read, func(t tx) error {
		var errs []error
		for _, check := range []func(tx) error{
			checkFile,
			checkReferences,
			checkRecords[account.Organization]("organizations"),
			checkRecords[account.User]("users"),
			checkRecords[account.Key]("keys"),
			checkRecords[environment.Environment]("environments"),
			checkRecords[setup.Run]("runs"),
			checkRecords[image.Image]("images"),
			checkAudit,
		} {
			errs = append(errs, check(t))
		}
		return errors.Join(errs...)
	})
}

func checkFile(t tx) error {
	found, err := t.texts("PRAGMA integrity_check(20)")
	if err != nil {
		return fmt.Errorf("check the file: %w", err)
	}
	if len(found) == 1 && found[0] == "ok" {
		return nil
	}
	return fmt.Errorf("the file is damaged: %q", found)
}

func checkReferences(t tx) error {
	found, err := t.texts(`SELECT "table" || ' refers to a missing row of ' || parent FROM pragma_foreign_key_check LIMIT 20`)
	if err != nil {
		return fmt.Errorf("check references: %w", err)
	}
	if len(found) > 0 {
		return fmt.Errorf("references are broken: %q", found)
	}
	return nil
}

// checkRecords decodes every record of a table.
func checkRecords[T any](table string) func(tx) error {
	return func(t tx) error {
		rows, err := t.sql.QueryContext(t.ctx, "SELECT id, record FROM "+table)
		if err != nil {
			return fmt.Errorf("check %s: %w", table, err)
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			var record []byte
			if err := rows.Scan(&id, &record); err != nil {
				return fmt.Errorf("check %s: %w", table, err)
			}
			if _, err := decode[T](record); err != nil {
				return fmt.Errorf("the record %s of %s can't be read: %w", id, table, err)
			}
		}
		return rows.Err()
	}
}

func checkAudit(t tx) error {
	head, err := t.AuditHead()
	if err != nil {
		return err
	}
	_, err = audit.Verify(t.AuditLinks(0), &head)
	return err
}

package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/sandboxd/audit"
	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/store"
	"github.com/sallyport/sallyport/sandboxd/store/sqlite"
	"github.com/sallyport/sallyport/sandboxd/store/storetest"
)

func open(t testing.TB, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Test(t, func(t *testing.T) store.Store { return open(t, t.TempDir()) })
}

func TestDirectoryBelongsToOneProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s := open(t, dir)
	_, err := sqlite.Open(t.Context(), dir)
	if !errors.Is(err, sqlite.ErrInUse) || !strings.Contains(err.Error(), "process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("a second one: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
}

func TestOthersCannotRead(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s := open(t, dir)
	if err := s.Update(t.Context(), func(w store.Writer) error { return w.Audit(audit.Entry{}) }); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(dir, "backup")
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) < 4 {
		t.Errorf("files: %v, %v", files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", f.Name(), info.Mode(), err)
		}
	}
}

func TestReadingBesideADaemon(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := sqlite.OpenToRead(t.Context(), dir); err == nil {
		t.Error("opened a store that isn't there")
	}
	s := open(t, dir)
	if err := s.Update(t.Context(), func(w store.Writer) error { return w.Audit(audit.Entry{}) }); err != nil {
		t.Fatal(err)
	}
	reader, err := sqlite.OpenToRead(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := reader.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
	if err := reader.Update(t.Context(), func(store.Writer) error { return nil }); err == nil {
		t.Error("a reader writes")
	}
	// Going away, the reader leaves the daemon's log alone.
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("check after the reader has gone: %v", err)
	}
}

func TestBackupOpensAsAStore(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	e := environment.Environment{ID: "env_1", OrganizationID: "org_1", Definition: environment.Definition{Name: "n", Provider: "runs"}}
	err := s.Update(t.Context(), func(w store.Writer) error {
		return errors.Join(w.PutEnvironment(e), w.Audit(audit.Entry{Action: "environment.create"}))
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := s.Backup(t.Context(), filepath.Join(dir, sqlite.File)); err != nil {
		t.Fatal(err)
	}
	restored := open(t, dir)
	err = errors.Join(restored.Check(t.Context()), restored.View(t.Context(), func(r store.Reader) error {
		_, err := r.Environment("org_1", "env_1")
		return err
	}))
	if err != nil {
		t.Error(err)
	}
}

// damage changes the database behind the store's back.
func damage(t *testing.T, dir, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, sqlite.File))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// Ledger: LO-9
func TestCheckFindsDamage(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, statement, want string }{
		{"an edited entry", `UPDATE audit SET body = replace(body, 'two', 'six') WHERE sequence = 2`, "entry 2"},
		{"a removed entry", `DELETE FROM audit WHERE sequence = 2`, "entry 2"},
		{"a shorter record", `DELETE FROM audit WHERE sequence = 3`, "entries up to 3"},
		{"another head", `UPDATE audit_head SET sequence = 2`, "entry 3"},
		{"a record of another version", `UPDATE environments SET record = json_set(record, '$.New', 1)`, "env_1"},
		{"half a record", `UPDATE environments SET record = substr(record, 1, 40)`, "env_1"},
		{"a key of nobody", `INSERT INTO keys VALUES ('key_1', 'org_none', x'00', '{}')`, "organizations"},
		{"a newer store", `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`, "version 99"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := open(t, dir)
			err := s.Update(t.Context(), func(w store.Writer) error {
				e := environment.Environment{ID: "env_1", OrganizationID: "org_1", Definition: environment.Definition{Name: "n", Provider: "runs"}}
				return errors.Join(w.PutEnvironment(e), w.Audit(audit.Entry{Action: "one"}), w.Audit(audit.Entry{Action: "two"}), w.Audit(audit.Entry{Action: "three"}))
			})
			if err != nil {
				t.Fatal(err)
			}
			damage(t, dir, c.statement)
			if err := checkDir(t.Context(), dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("check: %v", err)
			}
		})
	}
}

func checkDir(ctx context.Context, dir string) error {
	s, err := sqlite.OpenToRead(ctx, dir)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Check(ctx)
}

func TestCheckFindsADamagedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	for i := range 50 {
		err := s.Update(t.Context(), func(w store.Writer) error {
			return w.Audit(audit.Entry{Action: strings.Repeat("x", 2000), At: time.Unix(int64(i), 0)})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, sqlite.File)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(data[len(data)/2:], make([]byte, 4096))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkDir(t.Context(), dir); err == nil {
		t.Error("a damaged file passes")
	}
}

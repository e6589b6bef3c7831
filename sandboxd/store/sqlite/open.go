// Package sqlite keeps a store in one SQLite file of a state directory.
//
// A transaction that was acknowledged has been written through to the disk (a
// write-ahead log, synchronised at every commit), so neither a killed process
// nor a lost machine loses it or leaves half of one. One connection writes,
// several read beside it, each the moment at which it began.
//
// The directory belongs to one process at a time; a second one is refused.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/sallyport/sallyport/sandboxd/store"
)

// File is the name of the database in the state directory.
const File = "sandboxd.db"

// readers is how many transactions can read at once. More only wait for the
// processor.
const readers = 8

//go:embed migrations/*.sql
var migrations embed.FS

// Store is a store in a directory. It is safe for concurrent use.
type Store struct {
	path   string
	write  *sql.DB // one connection; nil when the store was opened to read
	read   *sql.DB
	unlock func()
}

var _ store.Store = (*Store)(nil)

// Open opens the store in a directory, which is made when it is missing, and
// brings its tables up to date. The error is ErrInUse when another process has
// it open.
func Open(ctx context.Context, dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make state directory: %w", err)
	}
	unlock, err := lock(dir)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, filepath.Join(dir, File), true)
	if err != nil {
		unlock()
		return nil, err
	}
	s.unlock = unlock
	return s, nil
}

// OpenToRead opens an existing store for View, Backup and Check only, also
// while another process works with it.
func OpenToRead(ctx context.Context, dir string) (*Store, error) {
	path := filepath.Join(dir, File)
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("find the store: %w", err)
	}
	return open(ctx, path, false)
}

func open(ctx context.Context, path string, writable bool) (_ *Store, err error) {
	s := &Store{path: path, unlock: func() {}}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	if writable {
		// SQLite would make the file readable for all, and gives its log the
		// permissions of the file.
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("make the store: %w", err)
		}
		if err := f.Close(); err != nil {
			return nil, fmt.Errorf("make the store: %w", err)
		}
		if s.write, err = sql.Open("sqlite", dsn(path, "immediate", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)")); err != nil {
			return nil, fmt.Errorf("open the store: %w", err)
		}
		s.write.SetMaxOpenConns(1)
		if err := migrate(ctx, s.write, true); err != nil {
			return nil, err
		}
	}
	// 8 MiB of pages for each; by default a list would read most of its own anew.
	if s.read, err = sql.Open("sqlite", dsn(path, "deferred", "query_only(1)", "cache_size(-8192)")); err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	if !writable {
		return s, migrate(ctx, s.read, false)
	}
	return s, nil
}

// dsn says how connections are made. A connection that finds the file locked,
// which only a checkpoint or a backup does, waits.
func dsn(path, begin string, pragmas ...string) string {
	values := url.Values{"_txlock": {begin}, "_pragma": append([]string{"busy_timeout(10000)"}, pragmas...)}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: values.Encode()}).String()
}

// migrate brings the tables up to date, or only says whether they are. It
// refuses those of a newer version of the program, which would lose what that
// one knows.
func migrate(ctx context.Context, db *sql.DB, apply bool) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if apply {
		if _, err := provider.Up(ctx); err != nil {
			return fmt.Errorf("migrate the store: %w", err)
		}
	}
	var have int64
	err = db.QueryRowContext(ctx, "SELECT max(version_id) FROM goose_db_version WHERE is_applied").Scan(&have)
	if err != nil {
		return fmt.Errorf("read the version of the store: %w", err)
	}
	sources := provider.ListSources()
	if want := sources[len(sources)-1].Version; have != want {
		return fmt.Errorf("the store has version %d, this program needs %d: %w", have, want, ErrVersion)
	}
	return nil
}

// ErrVersion is the error of a store that another version of the program made
// and this one can't read.
var ErrVersion = errors.New("the store is of another version of this program")

// Close waits for running transactions.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	s.unlock()
	return errors.Join(errs...)
}

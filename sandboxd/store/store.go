// Package store keeps what sandboxd must not forget: environments, setup runs,
// images, accounts, first results of retried requests, and the record of
// control actions.
//
// All reading and writing happens in transactions. View sees one moment; Update
// is alone with the store, so what it reads is still true when it writes, and
// all of it happens or nothing. A change and its audit entry belong into the
// same Update.
//
// Folder sqlite is the implementation, storetest the suite that every
// implementation passes.
package store

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/sallyport/sallyport/sandboxd/account"
	"github.com/sallyport/sallyport/sandboxd/audit"
	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/setup"
)

// ErrNotFound is the error of a look-up that finds nothing. A thing of another
// organisation is not found.
var ErrNotFound = errors.New("not found")

// A Store is safe for concurrent use.
type Store interface {
	// View calls f with a reader of one moment. The reader is not to be used
	// after f has returned.
	View(ctx context.Context, f func(Reader) error) error
	// Update calls f with a writer, alone. When f returns nil and Update does
	// too, what f wrote is on the disk; otherwise nothing of it is. The writer
	// is not to be used after f has returned, and f must not call Update.
	Update(ctx context.Context, f func(Writer) error) error
	// Backup writes a copy of one moment to path, a file that must not exist
	// yet, while others go on reading and writing.
	Backup(ctx context.Context, path string) error
	// Check reads all there is and says what is broken: damaged files, records
	// that can't be decoded, a broken audit chain.
	Check(ctx context.Context) error
	// Close waits for running transactions.
	Close() error
}

// A Reader reads within a transaction.
type Reader interface {
	// Environment returns an environment of an organisation, or ErrNotFound.
	Environment(organizationID, id string) (environment.Environment, error)
	// Environments lists an organisation's environments, the newest first.
	Environments(organizationID string, q EnvironmentQuery) (Page[environment.Environment], error)
	// Standings returns what the runs of environments amount to. Environments
	// without runs are left out.
	Standings(environmentIDs ...string) (map[string]Standing, error)

	// Run returns a run of an organisation, or ErrNotFound.
	Run(organizationID, id string) (setup.Run, error)
	// AnyRun returns a run whosever it is, or ErrNotFound: for what carries runs
	// out, never for callers.
	AnyRun(id string) (setup.Run, error)
	// Runs lists the runs of an environment, the newest first.
	Runs(environmentID string, q PageQuery) (Page[setup.Run], error)
	// UnfinishedRuns returns the runs of all organisations that haven't ended,
	// the oldest first.
	UnfinishedRuns() ([]setup.Run, error)
	// CountUnfinishedRuns counts an organisation's runs of a kind that haven't
	// ended.
	CountUnfinishedRuns(organizationID string, kind setup.Kind) (int, error)

	// Image returns an image, or ErrNotFound.
	Image(id string) (image.Image, error)
	// Images lists an organisation's images, the newest first; an empty id
	// means the service's own.
	Images(organizationID string, q PageQuery) (Page[image.Image], error)
	// AllImages returns every image, for what collects unused layers.
	AllImages() ([]image.Image, error)
	// ImagesInUse returns the ids of the images that verdicts rest on.
	ImagesInUse() ([]string, error)

	// Organizations returns all of them, the oldest first.
	Organizations() ([]account.Organization, error)
	// User returns a user of an organisation, or ErrNotFound.
	User(organizationID, id string) (account.User, error)
	// KeyByDigest returns the key with a digest, revoked and expired ones
	// included, or ErrNotFound.
	KeyByDigest(digest [32]byte) (account.Key, error)
	// Key returns a key of an organisation, or ErrNotFound.
	Key(organizationID, id string) (account.Key, error)
	// Keys lists an organisation's keys, the newest first.
	Keys(organizationID string, q PageQuery) (Page[account.Key], error)

	// FirstResult returns what was remembered for an idempotency key, or
	// ErrNotFound.
	FirstResult(organizationID, key string) (FirstResult, error)

	// AuditHead returns the end of the audit chain.
	AuditHead() (audit.Head, error)
	// AuditLinks yields the chain from the entry after a sequence number on.
	AuditLinks(after int64) iter.Seq2[audit.Link, error]
}

// A Writer reads and writes within a transaction.
type Writer interface {
	Reader

	// PutEnvironment saves an environment, new or changed.
	PutEnvironment(environment.Environment) error
	// DeleteEnvironment removes an environment, or returns ErrNotFound. Its runs
	// stay until ForgetRuns.
	DeleteEnvironment(organizationID, id string) error

	// PutRun saves a run, new or changed. A run that has ended stays as it is:
	// another version of it is an error, and so is a second manual run of an
	// environment while one hasn't ended.
	PutRun(setup.Run) error
	// ForgetRuns removes runs of deleted environments that ended before a time,
	// and returns their ids.
	ForgetRuns(before time.Time) ([]string, error)

	// PutImage saves an image, new or changed.
	PutImage(image.Image) error
	// DeleteImage forgets an image, or returns ErrNotFound.
	DeleteImage(id string) error

	// PutOrganization saves an organisation, new or changed.
	PutOrganization(account.Organization) error
	// PutUser saves a user, new or changed.
	PutUser(account.User) error
	// PutKey saves a key, new or changed.
	PutKey(account.Key) error

	// PutFirstResult remembers a result. A key that is remembered already is
	// replaced.
	PutFirstResult(FirstResult) error
	// ForgetFirstResults removes those from before a time.
	ForgetFirstResults(before time.Time) error

	// Audit appends an entry to the chain.
	Audit(audit.Entry) error
}

// PageQuery asks for a part of a list.
type PageQuery struct {
	After string // id that the page before ended with; empty: from the start
	Limit int    // at least 1
}

// EnvironmentQuery asks for a part of the list of environments.
type EnvironmentQuery struct {
	PageQuery
	NamePrefix string // empty: all
}

// A Page is a part of a list. What was there when the first page was read is
// on exactly one page, unless it was deleted meanwhile.
type Page[T any] struct {
	Items []T
	Next  string // After of the next page; empty: this is the last
}

// A Standing is what the manual runs of an environment amount to.
type Standing struct {
	// Verdict is the latest run that passed or failed.
	Verdict *setup.Run
	// Last is the latest run that ended, cancelled ones included.
	Last *setup.Run
	// Active is the run that hasn't ended.
	Active *setup.Run
	// Image is the one that Verdict captured, if it is still known.
	Image *image.Image
}

// A FirstResult is what a request with an idempotency key was answered.
type FirstResult struct {
	OrganizationID string
	Key            string
	Request        [32]byte // digest of the operation, its parameters and its body
	Result         []byte   // what the operation returned, as JSON
	At             time.Time
}

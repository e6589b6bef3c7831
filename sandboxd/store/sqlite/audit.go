package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/sallyport/sallyport/sandboxd/audit"
)

// auditBatch is how many links are read at a time.
const auditBatch = 256

func (t tx) AuditHead() (audit.Head, error) {
	var head audit.Head
	var digest []byte
	err := t.sql.QueryRowContext(t.ctx, "SELECT sequence, digest FROM audit_head").Scan(&head.Sequence, &digest)
	if err == nil {
		head.Digest, err = digestOf(digest)
	}
	if err != nil {
		return audit.Head{}, fmt.Errorf("read the end of the audit record: %w", err)
	}
	return head, nil
}

// AuditLinks reads in batches, so that a caller who does something else with
// the transaction meanwhile can.
func (t tx) AuditLinks(after int64) iter.Seq2[audit.Link, error] {
	return func(yield func(audit.Link, error) bool) {
		for {
			links, err := t.auditBatch(after)
			if err != nil {
				yield(audit.Link{}, fmt.Errorf("read the audit record: %w", err))
				return
			}
			for _, link := range links {
				if !yield(link, nil) {
					return
				}
				after = link.Sequence
			}
			if len(links) < auditBatch {
				return
			}
		}
	}
}

func (t tx) auditBatch(after int64) ([]audit.Link, error) {
	rows, err := t.sql.QueryContext(t.ctx, "SELECT sequence, previous, digest, body FROM audit WHERE sequence > ? ORDER BY sequence LIMIT ?",
		after, auditBatch)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var links []audit.Link
	for rows.Next() {
		link, err := scanLink(rows)
		if err != nil {
			return nil, err
		}
		links = append(links, link)
	}
	return links, rows.Err()
}

func scanLink(rows *sql.Rows) (audit.Link, error) {
	var link audit.Link
	var previous, digest, body []byte
	if err := rows.Scan(&link.Sequence, &previous, &digest, &body); err != nil {
		return audit.Link{}, err
	}
	var errs [2]error
	link.Previous, errs[0] = digestOf(previous)
	link.Digest, errs[1] = digestOf(digest)
	link.Body = body
	return link, errors.Join(errs[:]...)
}

func digestOf(raw []byte) (audit.Digest, error) {
	if len(raw) != len(audit.Digest{}) {
		return audit.Digest{}, fmt.Errorf("a digest of %d bytes", len(raw))
	}
	return audit.Digest(raw), nil
}

func (t tx) Audit(e audit.Entry) error {
	head, err := t.AuditHead()
	if err != nil {
		return err
	}
	link, err := audit.Seal(head, e)
	if err != nil {
		return err
	}
	n, err := t.exec("INSERT INTO audit (sequence, previous, digest, body) VALUES (?, ?, ?, ?)",
		link.Sequence, link.Previous[:], link.Digest[:], string(link.Body))
	if err := changed(n, err, "save audit entry"); err != nil {
		return err
	}
	n, err = t.exec("UPDATE audit_head SET sequence = ?, digest = ?", link.Sequence, link.Digest[:])
	return changed(n, err, "save the end of the audit record")
}

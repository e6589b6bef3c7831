package sqlite

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/sallyport/sallyport/sandboxd/image"
	"github.com/sallyport/sallyport/sandboxd/setup"
	"github.com/sallyport/sallyport/sandboxd/store"
)

func (t tx) Run(organizationID, id string) (setup.Run, error) {
	return one[setup.Run](t, "setup run", "SELECT record FROM runs WHERE id = ? AND organization_id = ?", id, organizationID)
}

func (t tx) AnyRun(id string) (setup.Run, error) {
	return one[setup.Run](t, "setup run", "SELECT record FROM runs WHERE id = ?", id)
}

func (t tx) Runs(environmentID string, q store.PageQuery) (store.Page[setup.Run], error) {
	return page(t, "setup runs", "FROM runs WHERE environment_id = ?", []any{environmentID}, q,
		func(r setup.Run) string { return r.ID })
}

func (t tx) UnfinishedRuns() ([]setup.Run, error) {
	return list[setup.Run](t, "unfinished runs", "SELECT record FROM runs WHERE ended_at IS NULL ORDER BY id")
}

func (t tx) CountUnfinishedRuns(organizationID string, kind setup.Kind) (int, error) {
	var n int
	err := t.sql.QueryRowContext(t.ctx, "SELECT count(*) FROM runs WHERE organization_id = ? AND kind = ? AND ended_at IS NULL",
		organizationID, string(kind)).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count unfinished runs: %w", err)
	}
	return n, nil
}

func (t tx) PutRun(r setup.Run) error {
	record, err := encode(r)
	if err != nil {
		return err
	}
	var ended sql.NullInt64
	if r.Status.Terminal() {
		ended = sql.NullInt64{Int64: r.FinishedAt.UnixMilli(), Valid: true}
	}
	n, err := t.exec(`INSERT INTO runs (id, organization_id, environment_id, kind, ended_at, record) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET ended_at = excluded.ended_at, record = excluded.record
		WHERE ended_at IS NULL AND organization_id = excluded.organization_id
			AND environment_id = excluded.environment_id AND kind = excluded.kind`,
		r.ID, r.OrganizationID, r.EnvironmentID, string(r.Kind), ended, record)
	if err := changed(n, err, "save setup run"); err != nil {
		return err
	}
	if r.Kind != setup.Manual {
		return nil
	}
	return t.stand(r)
}

// stand notes what a manual run means for its environment, if that still is.
func (t tx) stand(r setup.Run) error {
	var verdict, last, active any
	if r.Status.Terminal() {
		last = r.ID
		if r.Status != setup.Cancelled {
			verdict = r.ID
		}
	} else {
		active = r.ID
	}
	// A run outlives its environment; its standing doesn't.
	_, err := t.exec(`INSERT INTO standings (environment_id, verdict, last, active)
		SELECT id, ?, ?, ? FROM environments WHERE id = ?
		ON CONFLICT (environment_id) DO UPDATE SET
			verdict = coalesce(excluded.verdict, verdict),
			last    = coalesce(excluded.last, last),
			active  = excluded.active`,
		verdict, last, active, r.EnvironmentID)
	if err != nil {
		return fmt.Errorf("save standing: %w", err)
	}
	return nil
}

func (t tx) ForgetRuns(before time.Time) ([]string, error) {
	ids, err := t.texts(`DELETE FROM runs
		WHERE ended_at < ? AND environment_id NOT IN (SELECT id FROM environments) RETURNING id`, before.UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("forget runs: %w", err)
	}
	return ids, nil
}

// standing is a row of ids.
type standing struct{ environment, verdict, last, active string }

func (t tx) Standings(environmentIDs ...string) (map[string]store.Standing, error) {
	ids, err := t.standings(environmentIDs)
	if err != nil {
		return nil, err
	}
	var wanted []string
	for _, s := range ids {
		wanted = append(wanted, s.verdict, s.last, s.active)
	}
	runs, err := list[setup.Run](t, "setup runs", "SELECT record FROM runs WHERE id IN ("+marks(len(wanted))+")", anys(wanted)...)
	if err != nil {
		return nil, err
	}
	byID := map[string]*setup.Run{}
	var captured []string
	for i := range runs {
		byID[runs[i].ID] = &runs[i]
		if runs[i].ImageID != "" {
			captured = append(captured, runs[i].ImageID)
		}
	}
	images, err := list[image.Image](t, "images", "SELECT record FROM images WHERE id IN ("+marks(len(captured))+")", anys(captured)...)
	if err != nil {
		return nil, err
	}
	byImage := map[string]*image.Image{}
	for i := range images {
		byImage[images[i].ID] = &images[i]
	}
	all := map[string]store.Standing{}
	for _, s := range ids {
		standing := store.Standing{Verdict: byID[s.verdict], Last: byID[s.last], Active: byID[s.active]}
		if standing.Verdict != nil {
			standing.Image = byImage[standing.Verdict.ImageID]
		}
		all[s.environment] = standing
	}
	return all, nil
}

func (t tx) standings(environmentIDs []string) ([]standing, error) {
	rows, err := t.sql.QueryContext(t.ctx, `SELECT environment_id, coalesce(verdict, ''), coalesce(last, ''), coalesce(active, '')
		FROM standings WHERE environment_id IN (`+marks(len(environmentIDs))+")", anys(environmentIDs)...)
	if err != nil {
		return nil, fmt.Errorf("read standings: %w", err)
	}
	defer rows.Close()
	var all []standing
	for rows.Next() {
		var s standing
		if err := rows.Scan(&s.environment, &s.verdict, &s.last, &s.active); err != nil {
			return nil, fmt.Errorf("read standings: %w", err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read standings: %w", err)
	}
	return all, nil
}

-- Records are JSON; beside them stand the columns by which they are found.
-- Ids sort in the order in which things were made, so lists page by them.

-- +goose Up
CREATE TABLE organizations (
    id     TEXT PRIMARY KEY,
    record TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    record          TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    digest          BLOB NOT NULL UNIQUE,
    record          TEXT NOT NULL
) STRICT;
CREATE INDEX keys_by_organization ON keys (organization_id, id);

CREATE TABLE environments (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL,
    name            TEXT NOT NULL,
    record          TEXT NOT NULL
) STRICT;
CREATE INDEX environments_by_organization ON environments (organization_id, id);

CREATE TABLE runs (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL,
    environment_id  TEXT NOT NULL,
    kind            TEXT NOT NULL,
    ended_at        INTEGER, -- milliseconds since 1970; null until it has ended
    record          TEXT NOT NULL
) STRICT;
CREATE INDEX runs_by_environment ON runs (environment_id, id);
CREATE INDEX runs_by_end ON runs (ended_at);
CREATE INDEX runs_unfinished ON runs (organization_id, kind) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX runs_one_at_a_time ON runs (environment_id) WHERE ended_at IS NULL AND kind = 'manual';

-- What the manual runs of an environment amount to, kept with every run that
-- is written, so that a list of environments needn't search for it.
CREATE TABLE standings (
    environment_id TEXT PRIMARY KEY,
    verdict        TEXT, -- the latest run that passed or failed
    last           TEXT, -- the latest run that ended
    active         TEXT  -- the run that hasn't
) STRICT, WITHOUT ROWID;

CREATE TABLE images (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL, -- empty: the service's own
    record          TEXT NOT NULL
) STRICT;
CREATE INDEX images_by_organization ON images (organization_id, id);

CREATE TABLE first_results (
    organization_id TEXT NOT NULL,
    key             TEXT NOT NULL,
    at              INTEGER NOT NULL, -- milliseconds since 1970
    request         BLOB NOT NULL,
    result          BLOB NOT NULL,
    PRIMARY KEY (organization_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX first_results_by_time ON first_results (at);

CREATE TABLE audit (
    sequence INTEGER PRIMARY KEY,
    previous BLOB NOT NULL,
    digest   BLOB NOT NULL,
    body     TEXT NOT NULL
) STRICT;

CREATE TABLE audit_head (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    sequence INTEGER NOT NULL,
    digest   BLOB NOT NULL
) STRICT;
INSERT INTO audit_head VALUES (1, 0, zeroblob(32));

-- +goose Down
DROP TABLE audit_head;
DROP TABLE audit;
DROP TABLE first_results;
DROP TABLE images;
DROP TABLE standings;
DROP TABLE runs;
DROP TABLE environments;
DROP TABLE keys;
DROP TABLE users;
DROP TABLE organizations;

-- Running recollect as a service: work that was accepted, and who may use it.

CREATE TABLE operations (
    bank        INTEGER NOT NULL,
    id          TEXT NOT NULL,
    number      INTEGER NOT NULL,      -- the order of acceptance in the bank
    kind        TEXT NOT NULL,
    state       TEXT NOT NULL,
    items       INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    error       TEXT,
    steps       INTEGER NOT NULL,      -- parts of it that are committed, each with its effect
    note        TEXT NOT NULL,
    result      TEXT,
    payload     TEXT,                  -- NULL once nobody needs it any more
    fingerprint BLOB NOT NULL,
    request_key TEXT,
    worker      TEXT,                  -- who is at it, under which claim, until when
    token       TEXT,
    lease_until INTEGER,
    not_before  INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    finished_at INTEGER,
    PRIMARY KEY (bank, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX operations_number ON operations (bank, number);
CREATE UNIQUE INDEX operations_request ON operations (bank, request_key)
    WHERE request_key IS NOT NULL;
CREATE INDEX operations_open ON operations (bank, number) WHERE state IN ('pending', 'running');
CREATE INDEX operations_finished ON operations (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE keys (
    id         TEXT PRIMARY KEY,
    digest     BLOB NOT NULL,          -- SHA-256 of the secret, which is random and long
    name       TEXT NOT NULL,
    scopes     TEXT NOT NULL,
    banks      TEXT,                   -- JSON; NULL for all
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;

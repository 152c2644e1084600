-- The embedded store. Every row belongs to a bank; `n` = bank << 40 | key, so that a bank is
-- one contiguous range of each table and one memory is one lookup.
--
-- memories, documents, chunks, entities, links, evidence, sources: the truth.
-- features, tokens: what search needs of each memory, made from the truth in the same
-- transaction; a process builds its in-memory index from them and catches up by `seq`.

CREATE TABLE banks (
    bank             INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice
    id               TEXT NOT NULL UNIQUE,
    seq              INTEGER NOT NULL DEFAULT 0,  -- grows with every change of the bank; begins
                                                  -- at bank << 32, so no two banks share one
    generation       INTEGER NOT NULL DEFAULT 0,  -- grows when all vectors are made anew
    next_key         INTEGER NOT NULL DEFAULT 1,
    next_entity      INTEGER NOT NULL DEFAULT 1,
    embedder         TEXT NOT NULL,
    dimensions       INTEGER NOT NULL,
    token_dimensions INTEGER NOT NULL,
    config           TEXT NOT NULL DEFAULT '{}',
    memories         INTEGER NOT NULL DEFAULT 0,  -- counted by the triggers below
    documents        INTEGER NOT NULL DEFAULT 0,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL
) STRICT;

CREATE TABLE documents (
    bank       INTEGER NOT NULL,
    id         TEXT NOT NULL,
    hash       BLOB NOT NULL,      -- of everything that was given: the same again is a no-op
    context    TEXT,
    tags       TEXT NOT NULL,
    metadata   TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (bank, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE chunks (
    bank        INTEGER NOT NULL,
    document_id TEXT NOT NULL,
    position    INTEGER NOT NULL,
    id          TEXT NOT NULL,
    text        TEXT NOT NULL,
    PRIMARY KEY (bank, document_id, position)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX chunks_id ON chunks (bank, id);

CREATE TABLE memories (
    n                 INTEGER PRIMARY KEY,
    bank              INTEGER NOT NULL,
    id                TEXT NOT NULL,
    type              TEXT NOT NULL,
    state             TEXT NOT NULL,
    text              TEXT NOT NULL,
    context           TEXT,
    speaker           TEXT,
    document_id       TEXT,
    chunk_id          TEXT,
    occurred_start    INTEGER,     -- microseconds since 1970, UTC, as are all times here
    occurred_end      INTEGER,
    occurred_grain    TEXT,
    mentioned_at      INTEGER,
    last_mentioned_at INTEGER,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    known_from        INTEGER NOT NULL,
    known_until       INTEGER,
    superseded_by     TEXT,
    proof_count       INTEGER NOT NULL DEFAULT 1,
    confidence        REAL,
    tokens            INTEGER NOT NULL,
    extra             TEXT         -- authored fields, tags and metadata as JSON; NULL when empty
) STRICT;
CREATE UNIQUE INDEX memories_id ON memories (bank, id) WHERE state <> 'revised';
CREATE INDEX memories_revised ON memories (bank, id) WHERE state = 'revised';
CREATE INDEX memories_document ON memories (bank, document_id) WHERE document_id IS NOT NULL;
CREATE INDEX memories_superseded ON memories (bank, superseded_by) WHERE superseded_by IS NOT NULL;

CREATE TRIGGER memories_added AFTER INSERT ON memories WHEN new.state <> 'revised' BEGIN
    UPDATE banks SET memories = memories + 1 WHERE bank = new.bank;
END;
CREATE TRIGGER memories_removed AFTER DELETE ON memories WHEN old.state <> 'revised' BEGIN
    UPDATE banks SET memories = memories - 1 WHERE bank = old.bank;
END;
CREATE TRIGGER memories_reworded AFTER UPDATE OF state ON memories
WHEN (old.state = 'revised') <> (new.state = 'revised') BEGIN
    UPDATE banks SET memories = memories + (old.state = 'revised') - (new.state = 'revised')
    WHERE bank = new.bank;
END;
CREATE TRIGGER documents_added AFTER INSERT ON documents BEGIN
    UPDATE banks SET documents = documents + 1 WHERE bank = new.bank;
END;
CREATE TRIGGER documents_removed AFTER DELETE ON documents BEGIN
    UPDATE banks SET documents = documents - 1 WHERE bank = old.bank;
END;

CREATE TABLE features (
    n        INTEGER PRIMARY KEY,
    bank     INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    record   BLOB NOT NULL,        -- the columns that filters and boosts read
    vector   BLOB,                 -- float16, unit length
    terms    BLOB NOT NULL,
    labels   BLOB,                 -- hashes of the tags
    entities BLOB                  -- ids
) STRICT;
CREATE INDEX features_seq ON features (bank, seq);

CREATE TABLE tokens (
    n    INTEGER PRIMARY KEY,
    data BLOB NOT NULL             -- int8 token vectors for late interaction
) STRICT;

CREATE TABLE entities (
    bank     INTEGER NOT NULL,
    id       INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    name     TEXT NOT NULL,
    kind     TEXT NOT NULL,
    aliases  TEXT NOT NULL,
    mentions INTEGER NOT NULL,
    PRIMARY KEY (bank, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE links (
    bank   INTEGER NOT NULL,
    source INTEGER NOT NULL,
    target INTEGER NOT NULL,
    kind   TEXT NOT NULL,
    weight REAL NOT NULL,
    PRIMARY KEY (bank, source, target, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_target ON links (bank, target);

-- Further mentions of a memory: the first one is on the memory itself.
CREATE TABLE evidence (
    bank        INTEGER NOT NULL,
    key         INTEGER NOT NULL,
    at          INTEGER,
    document_id TEXT,
    chunk_id    TEXT,
    text        TEXT NOT NULL
) STRICT;
CREATE INDEX evidence_key ON evidence (bank, key);
CREATE INDEX evidence_document ON evidence (bank, document_id) WHERE document_id IS NOT NULL;

-- Which memories an observation was made from.
CREATE TABLE sources (
    bank   INTEGER NOT NULL,
    key    INTEGER NOT NULL,
    source INTEGER NOT NULL,
    PRIMARY KEY (bank, key, source)
) STRICT, WITHOUT ROWID;
CREATE INDEX sources_source ON sources (bank, source);

-- Keys (numbers only) of deleted memories, for processes that still hold them.
CREATE TABLE tombstones (
    bank INTEGER NOT NULL,
    seq  INTEGER NOT NULL,
    key  INTEGER NOT NULL,
    PRIMARY KEY (bank, seq, key)
) STRICT, WITHOUT ROWID;

-- Vectors of another model in the making: staged here, switched in when all are there.
CREATE TABLE staged (
    n        INTEGER PRIMARY KEY,
    embedder TEXT NOT NULL,
    vector   BLOB,
    tokens   BLOB
) STRICT;

-- The PostgreSQL store. Every row belongs to a bank, and `bank_id` is part of every key, so that
-- a distributed PostgreSQL (Citus) can keep each bank on one node. For the same reason there are
-- no triggers, no sequences and no foreign keys to cascade over: whoever writes holds the bank's
-- row, and one code path writes all tables in one transaction.
--
-- memories, documents, chunks, entities, links, evidence, sources: the truth.
-- features, mentions, postings, tokens: what search needs of it, made in the same transaction.

CREATE TABLE banks (
    bank_id          text COLLATE "C" NOT NULL PRIMARY KEY,
    seq              bigint NOT NULL,             -- grows with every change; begins at the
                                                  -- moment of creation, so no two banks share one
    forgot_seq       bigint NOT NULL DEFAULT 0,   -- the last change that took something away
    next_key         bigint NOT NULL DEFAULT 1,
    next_entity      bigint NOT NULL DEFAULT 1,
    next_evidence    bigint NOT NULL DEFAULT 1,
    embedder         text NOT NULL,
    dimensions       integer NOT NULL,
    token_dimensions integer NOT NULL,
    config           text NOT NULL DEFAULT '{}',
    arriving         text,                        -- how far one that is being brought in has come;
                                                  -- nobody sees it before it is whole
    memories         bigint NOT NULL DEFAULT 0,   -- without earlier wordings
    documents        bigint NOT NULL DEFAULT 0,
    size             bigint NOT NULL DEFAULT 0,   -- with them: what BM25 counts
    field_length     bigint[] NOT NULL DEFAULT '{0,0,0,0,0,0}',  -- terms in all memories, by field
    field_count      bigint[] NOT NULL DEFAULT '{0,0,0,0,0,0}',  -- memories that have the field
    indexed_key      bigint NOT NULL DEFAULT 0,   -- vectors up to this key are in an HNSW index
    commits          uuid[] NOT NULL DEFAULT '{}',  -- the latest, to tell whether one got through
    created_at       bigint NOT NULL,             -- microseconds since 1970, UTC, as all times here
    updated_at       bigint NOT NULL
);

CREATE TABLE documents (
    bank_id    text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    hash       bytea NOT NULL,       -- of everything that was given: the same again is a no-op
    context    text,
    tags       text NOT NULL,
    metadata   text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (bank_id, id)
);

CREATE TABLE chunks (
    bank_id     text COLLATE "C" NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    position    integer NOT NULL,
    id          text COLLATE "C" NOT NULL,
    text        text NOT NULL,
    PRIMARY KEY (bank_id, document_id, position)
);
CREATE UNIQUE INDEX chunks_id ON chunks (bank_id, id);

CREATE TABLE memories (
    bank_id           text COLLATE "C" NOT NULL,
    key               bigint NOT NULL,
    id                text COLLATE "C" NOT NULL,
    type              text NOT NULL,
    state             text NOT NULL,
    text              text NOT NULL,
    context           text,
    speaker           text,
    document_id       text COLLATE "C",
    chunk_id          text COLLATE "C",
    occurred_start    bigint,
    occurred_end      bigint,
    occurred_grain    text,
    mentioned_at      bigint,
    last_mentioned_at bigint,
    created_at        bigint NOT NULL,
    updated_at        bigint NOT NULL,
    superseded_by     text COLLATE "C",
    proof_count       integer NOT NULL DEFAULT 1,
    confidence        double precision,
    tokens            integer NOT NULL,
    extra             text,          -- authored fields, tags and metadata as JSON
    known_from        bigint NOT NULL,
    known_until       bigint,
    entities          bigint[] NOT NULL,  -- ascending
    PRIMARY KEY (bank_id, key)
);
CREATE UNIQUE INDEX memories_id ON memories (bank_id, id) WHERE state <> 'revised';
CREATE INDEX memories_wordings ON memories (bank_id, id);
CREATE INDEX memories_document ON memories (bank_id, document_id) WHERE document_id IS NOT NULL;
CREATE INDEX memories_superseded ON memories (bank_id, superseded_by)
    WHERE superseded_by IS NOT NULL;

-- One row a memory, every wording: what filters, arms and boosts read. `vector` has no fixed
-- length because banks differ; an HNSW index is made for a large bank by itself, up to
-- `indexed_key`, and what is newer is searched exactly until the next one is made.
CREATE TABLE features (
    key            bigint NOT NULL,
    type           smallint NOT NULL,
    state          smallint NOT NULL,
    bank_id        text COLLATE "C" NOT NULL,
    vector         halfvec,          -- unit length; early in the row, because a scan reads it
    record         bytea NOT NULL,   -- the columns that boosts read, packed as in every store
    happened_from  bigint,
    happened_until bigint,
    known_from     bigint NOT NULL,
    known_until    bigint,
    statement      bigint NOT NULL,
    slot           bigint NOT NULL,
    previous       bigint NOT NULL,  -- key of the turn it answers, 0 for none
    tags           text[] NOT NULL,
    PRIMARY KEY (bank_id, key)
) WITH (fillfactor = 90, toast_tuple_target = 8160);
ALTER TABLE features ALTER COLUMN record SET STORAGE PLAIN;
-- What overlaps a window began inside it, or shortly before, or is one of the few that last long.
CREATE INDEX features_happened ON features (bank_id, happened_from)
    WHERE happened_from IS NOT NULL;
CREATE INDEX features_lasting ON features (bank_id, happened_from)
    WHERE happened_until - happened_from > 3456000000000;  -- 40 days
CREATE INDEX features_statement ON features (bank_id, statement);
CREATE INDEX features_slot ON features (bank_id, slot) WHERE slot <> 0;
CREATE INDEX features_previous ON features (bank_id, previous) WHERE previous <> 0;
CREATE INDEX features_type ON features (bank_id, type);
CREATE INDEX features_tags ON features USING gin (tags);

-- Which memories name an entity.
CREATE TABLE mentions (
    bank_id text COLLATE "C" NOT NULL,
    entity  bigint NOT NULL,
    key     bigint NOT NULL,
    PRIMARY KEY (bank_id, entity, key)
);

-- Where a term stands: one row holds its places in 4096 consecutive keys, six bytes each. A
-- question reads a few dozen rows; a commit of hundreds of memories appends to each term once.
CREATE TABLE postings (
    bank_id text COLLATE "C" NOT NULL,
    term    bigint NOT NULL,
    block   integer NOT NULL,        -- key >> 12
    data    bytea NOT NULL,
    PRIMARY KEY (bank_id, term, block)
) WITH (fillfactor = 80, toast_tuple_target = 8160);
ALTER TABLE postings ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE tokens (
    bank_id text COLLATE "C" NOT NULL,
    key     bigint NOT NULL,
    terms   bytea NOT NULL,          -- what stands in postings, to be taken out again
    data    bytea,                   -- int8 token vectors for late interaction
    PRIMARY KEY (bank_id, key)
) WITH (toast_tuple_target = 8160);
ALTER TABLE tokens ALTER COLUMN terms SET STORAGE EXTERNAL;
ALTER TABLE tokens ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE entities (
    bank_id  text COLLATE "C" NOT NULL,
    id       bigint NOT NULL,
    seq      bigint NOT NULL,
    name     text COLLATE "C" NOT NULL,
    kind     text NOT NULL,
    aliases  text NOT NULL,
    mentions bigint NOT NULL,
    PRIMARY KEY (bank_id, id)
);
CREATE INDEX entities_seq ON entities (bank_id, seq);

CREATE TABLE links (
    bank_id text COLLATE "C" NOT NULL,
    source  bigint NOT NULL,
    target  bigint NOT NULL,
    kind    text COLLATE "C" NOT NULL,
    weight  double precision NOT NULL,
    PRIMARY KEY (bank_id, source, target, kind)
);
CREATE INDEX links_target ON links (bank_id, target);

-- Further mentions of a memory: the first one is on the memory itself.
CREATE TABLE evidence (
    bank_id     text COLLATE "C" NOT NULL,
    number      bigint NOT NULL,     -- counted by the bank
    key         bigint NOT NULL,
    at          bigint,
    document_id text COLLATE "C",
    chunk_id    text COLLATE "C",
    text        text NOT NULL,
    PRIMARY KEY (bank_id, number)
);
CREATE INDEX evidence_key ON evidence (bank_id, key);
CREATE INDEX evidence_document ON evidence (bank_id, document_id) WHERE document_id IS NOT NULL;

-- Which memories an observation was made from.
CREATE TABLE sources (
    bank_id text COLLATE "C" NOT NULL,
    key     bigint NOT NULL,
    source  bigint NOT NULL,
    PRIMARY KEY (bank_id, key, source)
);
CREATE INDEX sources_source ON sources (bank_id, source);

-- Vectors of another model in the making: staged here, switched in when all are there.
CREATE TABLE staged (
    bank_id  text COLLATE "C" NOT NULL,
    key      bigint NOT NULL,
    embedder text NOT NULL,
    vector   halfvec,
    tokens   bytea,
    PRIMARY KEY (bank_id, key)
) WITH (toast_tuple_target = 8160);

-- Work that was accepted.
CREATE TABLE operations (
    bank_id     text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    number      bigint NOT NULL,     -- the order of acceptance in the bank
    kind        text NOT NULL,
    state       text NOT NULL,
    items       bigint NOT NULL,
    attempts    integer NOT NULL,
    error       text,
    steps       integer NOT NULL,    -- parts of it that are committed, each with its effect
    note        text NOT NULL,
    result      text,
    payload     text,                -- NULL once nobody needs it any more
    fingerprint bytea NOT NULL,
    request_key text COLLATE "C",
    worker      text,                -- who is at it, under which claim, until when
    token       text,
    lease_until bigint,
    not_before  bigint NOT NULL,
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    finished_at bigint,
    PRIMARY KEY (bank_id, id)
);
CREATE UNIQUE INDEX operations_number ON operations (bank_id, number);
CREATE UNIQUE INDEX operations_request ON operations (bank_id, request_key)
    WHERE request_key IS NOT NULL;
CREATE INDEX operations_open ON operations (bank_id, number)
    WHERE state IN ('pending', 'running');
CREATE INDEX operations_finished ON operations (finished_at) WHERE finished_at IS NOT NULL;

-- API keys belong to the store, not to a bank: the one table that is never distributed.
CREATE TABLE keys (
    id         text COLLATE "C" NOT NULL PRIMARY KEY,
    digest     bytea NOT NULL,       -- SHA-256 of the secret, which is random and long
    name       text NOT NULL,
    scopes     text NOT NULL,
    banks      text,                 -- JSON; NULL for all
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint
);

-- Whose features were rewritten, or taken away, by which change: whoever holds a bank in memory
-- catches up by it. What is new needs no mention, its key is later than all before it. Old changes
-- are let go of: they are all there after `changes_since`.
CREATE TABLE changes (
    bank_id text COLLATE "C" NOT NULL,
    seq     bigint NOT NULL,
    key     bigint NOT NULL,
    PRIMARY KEY (bank_id, seq, key)
);
ALTER TABLE banks ADD COLUMN changes_since bigint NOT NULL DEFAULT 0;
UPDATE banks SET changes_since = seq;

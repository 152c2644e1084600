-- Which memories nobody sees any more: few, and asked about for every memory that a name or a link
-- leads to.
CREATE INDEX features_withdrawn ON features (bank_id, key) WHERE state > 1;

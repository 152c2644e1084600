-- A page of the memories mentioned last, or of the documents written last, is read in order, however
-- large the bank is.
CREATE INDEX memories_mentioned ON memories
    (bank_id, coalesce(mentioned_at, '-9223372036854775808'::bigint), created_at, key)
    WHERE state <> 'revised';
CREATE INDEX documents_updated ON documents (bank_id, updated_at, id);

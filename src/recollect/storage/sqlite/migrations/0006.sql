-- A page of the memories mentioned last, or of the documents written last, is read in order, however
-- large the bank is. With type and state in the index, those who list only some of them, or count
-- them, read no rows.
CREATE INDEX memories_mentioned ON memories
    (bank, coalesce(mentioned_at, -9223372036854775808), created_at, n, type, state)
    WHERE state <> 'revised';
CREATE INDEX documents_updated ON documents (bank, updated_at, id);

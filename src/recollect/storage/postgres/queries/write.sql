-- What a commit changes. Every statement runs under the bank's row lock.

-- name: insert_bank
INSERT INTO banks (bank_id, seq, changes_since, embedder, dimensions, token_dimensions, config, arriving,
  created_at, updated_at)
VALUES (%(bank)s, %(now)s, %(now)s, %(embedder)s, %(dimensions)s, %(token_dimensions)s, %(config)s, %(arriving)s, %(now)s, %(now)s)
ON CONFLICT (bank_id) DO NOTHING

-- name: configure_bank
UPDATE banks b SET config = %(config)s, seq = b.seq + 1, updated_at = %(now)s
WHERE b.bank_id = %(bank)s

-- name: advance_bank
UPDATE banks b SET seq = %(seq)s, forgot_seq = %(forgot_seq)s, next_key = %(next_key)s,
  next_entity = greatest(b.next_entity, %(next_entity)s), next_evidence = %(next_evidence)s,
  memories = b.memories + %(memories)s, documents = b.documents + %(documents)s,
  size = b.size + %(size)s, field_length = %(field_length)s::bigint[],
  field_count = %(field_count)s::bigint[], commits = %(commits)s::uuid[], updated_at = %(now)s,
  changes_since = greatest(b.changes_since, %(changes_since)s)
WHERE b.bank_id = %(bank)s

-- name: put_changes
INSERT INTO changes (bank_id, seq, key)
SELECT %(bank)s, %(seq)s, changed.key FROM unnest(%(keys)s::bigint[]) AS changed (key)

-- name: drop_changes
DELETE FROM changes c WHERE c.bank_id = %(bank)s AND c.seq <= %(upto)s

-- name: note_arrival
UPDATE banks b SET arriving = %(note)s WHERE b.bank_id = %(bank)s

-- name: known_documents
SELECT d.id FROM documents d WHERE d.bank_id = %(bank)s AND d.id = ANY(%(ids)s)

-- name: put_document
INSERT INTO documents (bank_id, id, hash, context, tags, metadata, created_at, updated_at)
VALUES (%(bank)s, %(id)s, %(hash)s, %(context)s, %(tags)s, %(metadata)s, %(created_at)s, %(updated_at)s)
ON CONFLICT (bank_id, id) DO UPDATE SET hash = EXCLUDED.hash, context = EXCLUDED.context,
  tags = EXCLUDED.tags, metadata = EXCLUDED.metadata, updated_at = EXCLUDED.updated_at

-- name: clear_chunks
DELETE FROM chunks c WHERE c.bank_id = %(bank)s AND c.id = ANY(%(ids)s)

-- name: append_postings
INSERT INTO postings (bank_id, term, block, data)
SELECT %(bank)s, added.term, added.block, added.data
FROM unnest(%(terms)s::bigint[], %(blocks)s::integer[], %(data)b::bytea[]) AS added (term, block, data)
ON CONFLICT (bank_id, term, block) DO UPDATE SET data = postings.data || EXCLUDED.data

-- name: read_postings
SELECT p.term, p.block, p.data FROM postings p
JOIN unnest(%(terms)s::bigint[], %(blocks)s::integer[]) AS w (term, block)
  ON p.term = w.term AND p.block = w.block
WHERE p.bank_id = %(bank)s

-- name: replace_postings
UPDATE postings p SET data = w.data
FROM unnest(%(terms)s::bigint[], %(blocks)s::integer[], %(data)b::bytea[]) AS w (term, block, data)
WHERE p.bank_id = %(bank)s AND p.term = w.term AND p.block = w.block

-- name: empty_postings
DELETE FROM postings p WHERE p.bank_id = %(bank)s AND p.data = ''::bytea
  AND p.term = ANY(%(terms)s::bigint[])

-- name: put_links
INSERT INTO links (bank_id, source, target, kind, weight)
SELECT %(bank)s, added.source, added.target, added.kind, added.weight
FROM unnest(%(sources)s::bigint[], %(targets)s::bigint[], %(kinds)s::text[], %(weights)s::float8[])
  AS added (source, target, kind, weight)
ON CONFLICT (bank_id, source, target, kind)
DO UPDATE SET weight = greatest(links.weight, EXCLUDED.weight)

-- name: unlink
DELETE FROM links l WHERE l.bank_id = %(bank)s AND l.source = ANY(%(keys)s::bigint[])
  AND l.kind = 'related'

-- name: put_entities
INSERT INTO entities (bank_id, id, seq, name, kind, aliases, mentions)
SELECT %(bank)s, added.id, %(seq)s, added.name, added.kind, added.aliases, added.mentions
FROM unnest(%(ids)s::bigint[], %(names)s::text[], %(kinds)s::text[], %(aliases)s::text[],
  %(mentions)s::bigint[]) AS added (id, name, kind, aliases, mentions)
ON CONFLICT (bank_id, id) DO UPDATE SET seq = EXCLUDED.seq, name = EXCLUDED.name,
  kind = EXCLUDED.kind, aliases = EXCLUDED.aliases, mentions = EXCLUDED.mentions

-- name: put_sources
INSERT INTO sources (bank_id, key, source)
SELECT %(bank)s, %(key)s, m.key FROM memories m
WHERE m.bank_id = %(bank)s AND m.id = ANY(%(ids)s) AND m.state <> 'revised'
ON CONFLICT (bank_id, key, source) DO NOTHING

-- name: clear_sources
DELETE FROM sources s WHERE s.bank_id = %(bank)s AND s.key = %(key)s

-- name: inherit_links_from
INSERT INTO links (bank_id, source, target, kind, weight)
SELECT %(bank)s, %(new)s, l.target, l.kind, l.weight FROM links l
JOIN memories m ON m.bank_id = %(bank)s AND m.key = l.target
  AND (m.state <> 'revised' OR %(over)s)
WHERE l.bank_id = %(bank)s AND l.source = %(old)s AND (l.kind <> 'semantic' OR %(same)s)
ON CONFLICT (bank_id, source, target, kind) DO NOTHING

-- name: inherit_links_to
INSERT INTO links (bank_id, source, target, kind, weight)
SELECT %(bank)s, l.source, %(new)s, l.kind, l.weight FROM links l
JOIN memories m ON m.bank_id = %(bank)s AND m.key = l.source
  AND (m.state <> 'revised' OR %(over)s)
WHERE l.bank_id = %(bank)s AND l.target = %(old)s AND (l.kind <> 'semantic' OR %(same)s)
ON CONFLICT (bank_id, source, target, kind) DO NOTHING

-- name: links_among
SELECT l.source, l.target, l.kind, l.weight FROM links l WHERE l.bank_id = %(bank)s
  AND l.source = ANY(%(keys)s::bigint[]) AND l.target = ANY(%(keys)s::bigint[])

-- name: inherit_vector
UPDATE features f SET vector = o.vector FROM features o
WHERE f.bank_id = %(bank)s AND f.key = %(new)s AND o.bank_id = %(bank)s AND o.key = %(old)s

-- name: inherit_tokens
UPDATE tokens t SET data = o.data FROM tokens o
WHERE t.bank_id = %(bank)s AND t.key = %(new)s AND o.bank_id = %(bank)s AND o.key = %(old)s

-- name: move_evidence
UPDATE evidence e SET key = %(new)s WHERE e.bank_id = %(bank)s AND e.key = %(old)s

-- name: move_sources
UPDATE sources s SET source = %(new)s WHERE s.bank_id = %(bank)s AND s.source = %(old)s

-- name: move_observation
UPDATE sources s SET key = %(new)s WHERE s.bank_id = %(bank)s AND s.key = %(old)s

-- name: move_links_from
UPDATE links l SET source = %(new)s WHERE l.bank_id = %(bank)s AND l.source = %(old)s

-- name: move_links_to
UPDATE links l SET target = %(new)s WHERE l.bank_id = %(bank)s AND l.target = %(old)s

-- name: move_mentions
UPDATE mentions m SET key = %(new)s WHERE m.bank_id = %(bank)s AND m.key = %(old)s
  AND m.entity = ANY(%(entities)s::bigint[])

-- name: move_memory
UPDATE memories m SET key = %(new)s, text = %(text)s, tokens = %(tokens)s
WHERE m.bank_id = %(bank)s AND m.key = %(old)s

-- name: move_features
UPDATE features f SET key = %(new)s WHERE f.bank_id = %(bank)s AND f.key = %(old)s

-- name: move_tokens
UPDATE tokens t SET key = %(new)s, terms = %(terms)s WHERE t.bank_id = %(bank)s AND t.key = %(old)s

-- name: rewrite_memory
UPDATE memories m SET state = %(state)s, last_mentioned_at = %(last_mentioned_at)s,
  updated_at = %(updated_at)s, known_until = %(known_until)s, superseded_by = %(superseded_by)s,
  proof_count = %(proof_count)s, confidence = %(confidence)s, document_id = %(document_id)s,
  chunk_id = %(chunk_id)s, extra = %(extra)s
WHERE m.bank_id = %(bank)s AND m.key = %(key)s

-- name: rewrite_features
UPDATE features f SET state = %(code)s, happened_from = %(happened_from)s,
  happened_until = %(happened_until)s, known_until = %(known_until)s, record = %(record)s
WHERE f.bank_id = %(bank)s AND f.key = %(key)s

-- name: tell
UPDATE memories m SET mentioned_at = %(at)s WHERE m.bank_id = %(bank)s AND m.key = %(key)s

-- name: rows
SELECT m.key, m.id, m.type, m.state, m.text, m.context, m.speaker, m.document_id, m.chunk_id,
  m.occurred_start, m.occurred_end, m.occurred_grain, m.mentioned_at, m.last_mentioned_at,
  m.created_at, m.updated_at, m.superseded_by, m.proof_count, m.confidence, m.tokens, m.extra,
  m.known_from, m.known_until, f.statement, f.slot, f.previous, m.entities
FROM memories m JOIN features f ON f.bank_id = %(bank)s AND f.key = m.key
WHERE m.bank_id = %(bank)s AND m.key = ANY(%(keys)s::bigint[])

-- name: evidence_of
SELECT e.key, e.number, e.document_id, e.chunk_id, e.text, e.at FROM evidence e
WHERE e.bank_id = %(bank)s AND e.key = ANY(%(keys)s::bigint[]) ORDER BY e.number

-- name: take_mentions_in
DELETE FROM evidence e WHERE e.bank_id = %(bank)s AND e.document_id = %(id)s RETURNING e.key

-- name: drop_evidence
DELETE FROM evidence e WHERE e.bank_id = %(bank)s AND e.number = %(number)s

-- name: revisions_of
SELECT m.id, m.key FROM memories m
WHERE m.bank_id = %(bank)s AND m.id = ANY(%(ids)s) AND m.state = 'revised' ORDER BY m.key

-- name: superseded_by
SELECT m.superseded_by, m.key FROM memories m WHERE m.bank_id = %(bank)s
  AND m.superseded_by = ANY(%(ids)s) AND m.state IN ('superseded', 'revised') ORDER BY m.key

-- name: observations_of
SELECT s.source, s.key FROM sources s
WHERE s.bank_id = %(bank)s AND s.source = ANY(%(keys)s::bigint[]) ORDER BY s.key

-- name: other_texts
SELECT m.text FROM memories m WHERE m.bank_id = %(bank)s AND m.document_id = %(document)s
  AND m.chunk_id = %(chunk)s AND m.text <> %(text)s AND m.key <> ALL(%(gone)s::bigint[])
ORDER BY m.key

-- name: cut_chunk
UPDATE chunks c SET text = %(text)s WHERE c.bank_id = %(bank)s AND c.id = %(id)s

-- name: unread_documents
UPDATE documents d SET hash = ''::bytea WHERE d.bank_id = %(bank)s AND d.id = ANY(%(ids)s)

-- name: drop_chunks
DELETE FROM chunks c WHERE c.bank_id = %(bank)s AND c.document_id = %(id)s

-- name: drop_document
DELETE FROM documents d WHERE d.bank_id = %(bank)s AND d.id = %(id)s

-- name: names_of
SELECT e.name, e.aliases FROM entities e WHERE e.bank_id = %(bank)s AND e.id = %(entity)s

-- name: rename_entity
UPDATE entities e SET name = %(called)s, aliases = %(aliases)s, mentions = %(mentions)s, seq = %(seq)s
WHERE e.bank_id = %(bank)s AND e.id = %(entity)s

-- name: drop_entities
DELETE FROM entities e WHERE e.bank_id = %(bank)s AND e.id = ANY(%(ids)s::bigint[])

-- name: texts_of
SELECT m.text, m.speaker, m.context FROM memories m
WHERE m.bank_id = %(bank)s AND m.key = ANY(%(keys)s::bigint[])

-- name: terms_of
SELECT t.key, t.terms FROM tokens t
WHERE t.bank_id = %(bank)s AND t.key = ANY(%(keys)s::bigint[])

-- name: drop_memories
DELETE FROM memories m WHERE m.bank_id = %(bank)s AND m.key = ANY(%(keys)s::bigint[])

-- name: drop_features
DELETE FROM features f WHERE f.bank_id = %(bank)s AND f.key = ANY(%(keys)s::bigint[])

-- name: drop_tokens
DELETE FROM tokens t WHERE t.bank_id = %(bank)s AND t.key = ANY(%(keys)s::bigint[])

-- name: drop_staged
DELETE FROM staged s WHERE s.bank_id = %(bank)s AND s.key = ANY(%(keys)s::bigint[])

-- name: drop_mentions
DELETE FROM mentions m WHERE m.bank_id = %(bank)s AND m.key = ANY(%(keys)s::bigint[])
  AND m.entity = ANY(%(entities)s::bigint[])

-- name: drop_links_from
DELETE FROM links l WHERE l.bank_id = %(bank)s AND l.source = ANY(%(keys)s::bigint[])

-- name: drop_links_to
DELETE FROM links l WHERE l.bank_id = %(bank)s AND l.target = ANY(%(keys)s::bigint[])

-- name: drop_evidence_of
DELETE FROM evidence e WHERE e.bank_id = %(bank)s AND e.key = ANY(%(keys)s::bigint[])

-- name: drop_sources
DELETE FROM sources s WHERE s.bank_id = %(bank)s
  AND (s.key = ANY(%(keys)s::bigint[]) OR s.source = ANY(%(keys)s::bigint[]))

-- name: stage
INSERT INTO staged (bank_id, key, embedder, vector, tokens)
SELECT %(bank)s, m.key, %(embedder)s, %(vector)s, %(tokens)s FROM memories m
WHERE m.bank_id = %(bank)s AND m.key = %(key)s
ON CONFLICT (bank_id, key) DO UPDATE SET embedder = EXCLUDED.embedder, vector = EXCLUDED.vector,
  tokens = EXCLUDED.tokens

-- name: drop_misfits
DELETE FROM staged s WHERE s.bank_id = %(bank)s
  AND (vector_dims(s.vector) <> %(dimensions)s OR (s.tokens IS NULL AND %(token_dimensions)s > 0))

-- name: missing_staged
SELECT count(*) FROM memories m
LEFT JOIN staged s ON s.bank_id = %(bank)s AND s.key = m.key AND s.embedder = %(embedder)s
WHERE m.bank_id = %(bank)s AND s.key IS NULL

-- name: switch_vectors
UPDATE features f SET vector = s.vector FROM staged s
WHERE f.bank_id = %(bank)s AND s.bank_id = %(bank)s AND s.key = f.key

-- name: switch_tokens
UPDATE tokens t SET data = CASE WHEN %(token_dimensions)s > 0 THEN s.tokens END FROM staged s
WHERE t.bank_id = %(bank)s AND s.bank_id = %(bank)s AND s.key = t.key

-- name: clear_staged
DELETE FROM staged s WHERE s.bank_id = %(bank)s

-- name: switch_bank
UPDATE banks b SET embedder = %(embedder)s, dimensions = %(dimensions)s,
  token_dimensions = %(token_dimensions)s, indexed_key = 0, seq = b.seq + 1, changes_since = b.seq + 1,
  updated_at = %(now)s
WHERE b.bank_id = %(bank)s

-- name: set_indexed
UPDATE banks b SET indexed_key = %(key)s WHERE b.bank_id = %(bank)s AND b.dimensions = %(dimensions)s

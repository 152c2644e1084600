-- Rows as they are, for views, listings and exports.

-- name: head
-- With the keys of what is withdrawn, where those are few.
SELECT b.seq, b.forgot_seq, b.next_key, b.next_entity, b.next_evidence, b.embedder, b.dimensions,
  b.token_dimensions, b.size, b.field_length, b.field_count, b.indexed_key, b.commits, b.arriving,
  b.changes_since,
  (SELECT CASE WHEN count(*) <= 64 THEN coalesce(array_agg(w.key), '{}') END FROM (
     SELECT f.key FROM features f WHERE f.bank_id = %(bank)s AND f.state > 1 ORDER BY f.key LIMIT 65
   ) w)
FROM banks b WHERE b.bank_id = %(bank)s

-- name: head_locked
-- Whoever waited for the lock sees this row as it is now, but other tables as they were before.
SELECT b.seq, b.forgot_seq, b.next_key, b.next_entity, b.next_evidence, b.embedder, b.dimensions,
  b.token_dimensions, b.size, b.field_length, b.field_count, b.indexed_key, b.commits, b.arriving,
  b.changes_since, NULL::bigint[]
FROM banks b WHERE b.bank_id = %(bank)s FOR UPDATE

-- name: bank
SELECT b.bank_id, b.created_at, b.updated_at, b.memories, b.documents, b.embedder, b.dimensions, b.config
FROM banks b WHERE b.bank_id = %(bank)s AND b.arriving IS NULL

-- name: all_banks
SELECT b.bank_id, b.created_at, b.updated_at, b.memories, b.documents, b.embedder, b.dimensions, b.config
FROM banks b WHERE b.arriving IS NULL ORDER BY b.bank_id

-- name: model
SELECT b.embedder, b.dimensions, b.token_dimensions FROM banks b
WHERE b.bank_id = %(bank)s AND b.arriving IS NULL

-- name: arriving
SELECT b.arriving FROM banks b WHERE b.bank_id = %(bank)s

-- name: arrivals
SELECT b.bank_id FROM banks b WHERE b.arriving IS NOT NULL ORDER BY b.bank_id

-- name: load
SELECT m.key, m.id, m.type, m.state, m.text, m.context, m.speaker, m.document_id, m.chunk_id,
  m.occurred_start, m.occurred_end, m.occurred_grain, m.mentioned_at, m.last_mentioned_at,
  m.created_at, m.updated_at, m.superseded_by, m.proof_count, m.confidence, m.tokens, m.extra,
  m.entities
FROM memories m WHERE m.bank_id = %(bank)s AND m.key = ANY(%(keys)s::bigint[])

-- name: newest
-- The last keys, and where the first wording of each is.
SELECT m.key, (SELECT min(r.key) FROM memories r
  WHERE r.bank_id = %(bank)s AND r.id = m.id AND r.state = 'revised')
FROM memories m WHERE m.bank_id = %(bank)s AND m.key < %(below)s AND m.state <> 'revised'
ORDER BY m.key DESC LIMIT %(limit)s

-- name: standing
-- Of corrected memories the version that may be seen.
SELECT asked.key, max(v.key) FROM memories asked
JOIN memories v ON v.bank_id = %(bank)s AND v.id = asked.id
JOIN features f ON f.bank_id = %(bank)s AND f.key = v.key AND {allowed}
WHERE asked.bank_id = %(bank)s AND asked.key = ANY(%(keys)s::bigint[]) AND asked.state = 'revised'
GROUP BY asked.key

-- name: mentions_then
-- Evidence stands with the newest version. What came after an earlier one was closed was never
-- counted there.
SELECT m.key,
  count(*) FILTER (WHERE e.at > %(as_of)s AND (m.state <> 'revised' OR e.at < m.known_until)),
  max(e.at) FILTER (WHERE e.at <= %(as_of)s)
FROM memories m
JOIN memories v ON v.bank_id = %(bank)s AND v.id = m.id AND v.state <> 'revised'
JOIN evidence e ON e.bank_id = %(bank)s AND e.key = v.key
WHERE m.bank_id = %(bank)s AND m.key = ANY(%(keys)s::bigint[])
GROUP BY m.key HAVING max(e.at) > %(as_of)s

-- name: following
SELECT f.key FROM memories asked
JOIN memories v ON v.bank_id = %(bank)s AND v.id = asked.id
JOIN features f ON f.bank_id = %(bank)s AND f.previous = v.key AND f.previous <> 0
  AND f.state IN (0, 1)
WHERE asked.bank_id = %(bank)s AND asked.key = %(key)s ORDER BY f.key

-- name: keys_of
-- Every wording of a memory, the current one first.
SELECT m.key, m.state <> 'revised' FROM memories m
WHERE m.bank_id = %(bank)s AND m.id = %(id)s ORDER BY m.state <> 'revised' DESC, m.key DESC

-- name: chunks_by_id
SELECT c.id, c.document_id, c.position, c.text FROM chunks c
WHERE c.bank_id = %(bank)s AND c.id = ANY(%(ids)s)

-- name: said_in
SELECT c.id, m.key FROM chunks c
JOIN memories m ON m.bank_id = %(bank)s AND m.document_id = c.document_id AND m.chunk_id = c.id
WHERE c.bank_id = %(bank)s AND c.id = ANY(%(ids)s) AND m.state <> 'revised'
UNION
SELECT c.id, e.key FROM chunks c
JOIN evidence e ON e.bank_id = %(bank)s AND e.document_id = c.document_id AND e.chunk_id = c.id
WHERE c.bank_id = %(bank)s AND c.id = ANY(%(ids)s)
ORDER BY 2

-- name: document_hash
SELECT d.hash FROM documents d WHERE d.bank_id = %(bank)s AND d.id = %(id)s

-- name: document_keys
SELECT m.key FROM memories m
WHERE m.bank_id = %(bank)s AND m.document_id = %(id)s AND m.state <> 'revised' ORDER BY m.key

-- name: chunk_count
SELECT coalesce(max(c.position) + 1, 0) FROM chunks c
WHERE c.bank_id = %(bank)s AND c.document_id = %(id)s

-- name: mentioned
SELECT 1 FROM evidence e WHERE e.bank_id = %(bank)s AND e.key = %(key)s AND e.at = %(at)s
  AND e.document_id IS NOT DISTINCT FROM %(document)s::text
UNION ALL
SELECT 1 FROM memories m WHERE m.bank_id = %(bank)s AND m.key = %(key)s AND m.mentioned_at = %(at)s
  AND m.document_id IS NOT DISTINCT FROM %(document)s::text

-- name: told_by
SELECT DISTINCT e.document_id FROM evidence e
WHERE e.bank_id = %(bank)s AND e.key = %(key)s AND e.document_id IS NOT NULL ORDER BY 1

-- name: holders
SELECT m.key FROM mentions m WHERE m.bank_id = %(bank)s AND m.entity = %(entity)s ORDER BY m.key

-- name: changed_entities
SELECT e.id, e.name, e.kind, e.aliases, e.mentions FROM entities e
WHERE e.bank_id = %(bank)s AND e.seq > %(seq)s

-- name: changed_keys
SELECT c.key FROM changes c WHERE c.bank_id = %(bank)s AND c.seq > %(seq)s

-- name: documents
SELECT d.id, d.tags, d.metadata, d.context, d.created_at, d.updated_at,
  (SELECT count(*) FROM chunks c WHERE c.bank_id = %(bank)s AND c.document_id = d.id),
  (SELECT count(*) FROM memories m WHERE m.bank_id = %(bank)s AND m.document_id = d.id
     AND m.state <> 'revised'),
  (SELECT coalesce(sum(length(c.text)), 0) FROM chunks c
   WHERE c.bank_id = %(bank)s AND c.document_id = d.id)
FROM documents d WHERE d.bank_id = %(bank)s AND {allowed}
ORDER BY {order} LIMIT %(limit)s

-- name: document
SELECT d.id, d.tags, d.metadata, d.context, d.created_at, d.updated_at,
  (SELECT count(*) FROM chunks c WHERE c.bank_id = %(bank)s AND c.document_id = d.id),
  (SELECT count(*) FROM memories m WHERE m.bank_id = %(bank)s AND m.document_id = d.id
     AND m.state <> 'revised'),
  (SELECT coalesce(sum(length(c.text)), 0) FROM chunks c
   WHERE c.bank_id = %(bank)s AND c.document_id = d.id)
FROM documents d WHERE d.bank_id = %(bank)s AND d.id = %(id)s

-- name: document_chunks
SELECT c.id, c.document_id, c.position, c.text FROM chunks c
WHERE c.bank_id = %(bank)s AND c.document_id = %(id)s ORDER BY c.position

-- name: listed_keys
SELECT m.key FROM memories m JOIN features f ON f.bank_id = %(bank)s AND f.key = m.key
WHERE m.bank_id = %(bank)s AND {allowed}
ORDER BY {order} LIMIT %(limit)s OFFSET %(skip)s

-- name: listed_count
SELECT count(*) FROM memories m JOIN features f ON f.bank_id = %(bank)s AND f.key = m.key
WHERE m.bank_id = %(bank)s AND {allowed}

-- name: all_tags
SELECT t.tag, count(*) FROM features f CROSS JOIN LATERAL unnest(f.tags) AS t (tag)
WHERE f.bank_id = %(bank)s AND f.state IN (0, 1)
GROUP BY t.tag ORDER BY count(*) DESC, t.tag COLLATE "C"

-- name: revisions
SELECT m.key, m.id, m.type, m.state, m.text, m.context, m.speaker, m.document_id, m.chunk_id,
  m.occurred_start, m.occurred_end, m.occurred_grain, m.mentioned_at, m.last_mentioned_at,
  m.created_at, m.updated_at, m.superseded_by, m.proof_count, m.confidence, m.tokens, m.extra
FROM memories m WHERE m.bank_id = %(bank)s AND m.id = %(id)s AND m.state = 'revised' ORDER BY m.key

-- name: entities
SELECT e.id, e.name, e.kind, e.aliases, e.mentions FROM entities e
WHERE e.bank_id = %(bank)s ORDER BY e.mentions DESC, e.name LIMIT %(limit)s

-- name: links_of
SELECT a.id, b.id, l.kind, l.weight FROM memories m
JOIN links l ON l.bank_id = %(bank)s AND (l.source = m.key OR l.target = m.key)
JOIN memories a ON a.bank_id = %(bank)s AND a.key = l.source AND a.state <> 'revised'
JOIN memories b ON b.bank_id = %(bank)s AND b.key = l.target AND b.state <> 'revised'
WHERE m.bank_id = %(bank)s AND m.id = %(id)s AND m.state <> 'revised'
ORDER BY l.weight DESC, a.id, b.id

-- name: stats
SELECT 'type', m.type, count(*) FROM memories m
WHERE m.bank_id = %(bank)s AND m.state <> 'revised' GROUP BY m.type
UNION ALL
SELECT 'state', m.state, count(*) FROM memories m WHERE m.bank_id = %(bank)s GROUP BY m.state
UNION ALL
SELECT 'documents', '', count(*) FROM documents d WHERE d.bank_id = %(bank)s
UNION ALL
SELECT 'chunks', '', count(*) FROM chunks c WHERE c.bank_id = %(bank)s
UNION ALL
SELECT 'entities', '', count(*) FROM entities e WHERE e.bank_id = %(bank)s

-- name: link_stats
SELECT m.type, l.kind, count(*) FROM links l
JOIN memories m ON m.bank_id = %(bank)s AND m.key = l.source
WHERE l.bank_id = %(bank)s GROUP BY m.type, l.kind

-- name: config
SELECT b.config FROM banks b WHERE b.bank_id = %(bank)s

-- name: dump_documents
SELECT d.id, d.hash, d.context, d.tags, d.metadata, d.created_at, d.updated_at FROM documents d
WHERE d.bank_id = %(bank)s ORDER BY d.id

-- name: dump_entities
SELECT e.id, e.name, e.kind, e.aliases, e.mentions FROM entities e
WHERE e.bank_id = %(bank)s ORDER BY e.id

-- name: dump_links
SELECT l.source, l.target, l.kind, l.weight FROM links l
WHERE l.bank_id = %(bank)s AND (l.source, l.target, l.kind) > (%(source)s, %(target)s, %(kind)s)
ORDER BY l.source, l.target, l.kind LIMIT %(limit)s

-- name: dump_evidence
SELECT e.key, e.at, e.document_id, e.chunk_id, e.text FROM evidence e
WHERE e.bank_id = %(bank)s ORDER BY e.number

-- name: dump_memories
SELECT m.key, m.id, m.type, m.state, m.text, m.context, m.speaker, m.document_id, m.chunk_id,
  m.occurred_start, m.occurred_end, m.occurred_grain, m.mentioned_at, m.last_mentioned_at,
  m.created_at, m.updated_at, m.superseded_by, m.proof_count, m.confidence, m.tokens, m.extra,
  m.known_from, m.known_until, f.record, halfvec_send(f.vector), m.entities, t.data,
  (SELECT array_agg(s.source ORDER BY s.source) FROM sources s
   WHERE s.bank_id = %(bank)s AND s.key = m.key)
FROM memories m
JOIN features f ON f.bank_id = %(bank)s AND f.key = m.key
JOIN tokens t ON t.bank_id = %(bank)s AND t.key = m.key
WHERE m.bank_id = %(bank)s AND m.key > %(after)s ORDER BY m.key LIMIT %(limit)s

-- name: unstaged
SELECT m.key, m.id, m.type, m.state, m.text, m.context, m.speaker, m.document_id, m.chunk_id,
  m.occurred_start, m.occurred_end, m.occurred_grain, m.mentioned_at, m.last_mentioned_at,
  m.created_at, m.updated_at, m.superseded_by, m.proof_count, m.confidence, m.tokens, m.extra
FROM memories m
LEFT JOIN staged s ON s.bank_id = %(bank)s AND s.key = m.key AND s.embedder = %(embedder)s
WHERE m.bank_id = %(bank)s AND m.key > %(after)s AND s.key IS NULL ORDER BY m.key LIMIT %(limit)s

-- name: unstaged_count
SELECT count(*) FROM memories m
LEFT JOIN staged s ON s.bank_id = %(bank)s AND s.key = m.key AND s.embedder = %(embedder)s
WHERE m.bank_id = %(bank)s AND s.key IS NULL

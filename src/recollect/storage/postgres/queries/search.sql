-- What the stages of a recall ask. `{allowed}` is the filter, over features f. Answers of very
-- many small rows come as one packed value: taking each apart would cost more than finding it.
-- Where it is about memories that others name, `{anti}JOIN … {joined} … {kept}` is the same filter:
-- without one, those are sorted out that a small index says are withdrawn.

-- The arms below are answered together, as UNION ALL of those that were asked for.

-- name: arm_semantic_exact
SELECT 's' AS arm, 0::bigint AS number, 0 AS block,
  string_agg(int8send(n.key) || n.record || halfvec_send(n.vector), ''::bytea) AS data
FROM (
  SELECT f.key, f.record, f.vector FROM features f
  WHERE f.bank_id = %(bank)s AND f.vector IS NOT NULL AND {allowed}
  ORDER BY f.vector <#> %(vector)s, f.key LIMIT %(near)s
) n

-- name: arm_semantic_indexed
SELECT 's' AS arm, 0::bigint AS number, 0 AS block,
  string_agg(int8send(n.key) || n.record || halfvec_send(n.vector), ''::bytea) AS data
FROM (
  (SELECT f.key, f.record, f.vector FROM features f
   WHERE f.bank_id = %(bank)s AND f.key <= %(indexed)s AND {allowed}
   ORDER BY f.vector::halfvec({dimensions}) <#> %(vector)s::halfvec({dimensions}) LIMIT %(near)s)
  UNION ALL
  (SELECT f.key, f.record, f.vector FROM features f
   WHERE f.bank_id = %(bank)s AND f.key > %(indexed)s AND f.vector IS NOT NULL AND {allowed}
   ORDER BY f.vector <#> %(vector)s, f.key LIMIT %(near)s)
) n

-- name: arm_keyword
SELECT 'k' AS arm, p.term AS number, p.block, p.data FROM postings p
WHERE p.bank_id = %(bank)s AND p.term = ANY(%(terms)s::bigint[])

-- name: arm_temporal
SELECT 't' AS arm, 0::bigint AS number, 0 AS block,
  string_agg(int8send(w.key) || w.record
    || float4send(coalesce(-(w.vector <#> %(vector)s), 0)::real), ''::bytea) AS data
FROM (
  SELECT f.key, f.record, f.vector FROM features f
  WHERE f.bank_id = %(bank)s AND {allowed} AND f.happened_until - f.happened_from <= 3456000000000
    AND f.happened_from >= %(soonest)s AND f.happened_from < %(end)s
    AND (f.happened_until > %(start)s
      OR (f.happened_until = f.happened_from AND f.happened_from >= %(start)s))
  UNION ALL
  SELECT f.key, f.record, f.vector FROM features f
  WHERE f.bank_id = %(bank)s AND {allowed} AND f.happened_until - f.happened_from > 3456000000000
    AND f.happened_from < %(end)s AND f.happened_until > %(start)s
) w

-- name: window_keys
SELECT string_agg(int8send(w.key), ''::bytea ORDER BY w.key) FROM (
  SELECT f.key, f.record, f.vector FROM features f
  WHERE f.bank_id = %(bank)s AND {allowed} AND f.happened_until - f.happened_from <= 3456000000000
    AND f.happened_from >= %(soonest)s AND f.happened_from < %(end)s
    AND (f.happened_until > %(start)s
      OR (f.happened_until = f.happened_from AND f.happened_from >= %(start)s))
  UNION ALL
  SELECT f.key, f.record, f.vector FROM features f
  WHERE f.bank_id = %(bank)s AND {allowed} AND f.happened_until - f.happened_from > 3456000000000
    AND f.happened_from < %(end)s AND f.happened_until > %(start)s
) w

-- name: allowed_rows
SELECT string_agg(int8send(f.key) || f.record || coalesce(halfvec_send(f.vector), %(blank)s), ''::bytea)
FROM features f
WHERE f.bank_id = %(bank)s AND f.key = ANY(%(keys)s::bigint[]) AND {allowed}

-- name: allowed_records
SELECT string_agg(int8send(f.key) || f.record, ''::bytea) FROM features f
WHERE f.bank_id = %(bank)s AND f.key = ANY(%(keys)s::bigint[]) AND {allowed}

-- name: allowed_keys
SELECT string_agg(int8send(f.key), ''::bytea) FROM features f
WHERE f.bank_id = %(bank)s AND f.key = ANY(%(keys)s::bigint[]) AND {allowed}

-- name: all_allowed_keys
SELECT string_agg(int8send(f.key), ''::bytea) FROM features f
WHERE f.bank_id = %(bank)s AND {allowed}

-- name: sample
SELECT count(*), count(*) FILTER (WHERE {allowed}) FROM features f
WHERE f.bank_id = %(bank)s AND f.key = ANY(%(keys)s::bigint[])

-- name: expand
WITH seed AS (
  SELECT s.key, s.entities FROM memories s
  WHERE s.bank_id = %(bank)s AND s.key = ANY(%(keys)s::bigint[])
), named AS (
  SELECT unnest(seed.entities) AS entity FROM seed
  UNION SELECT unnest(%(entities)s::bigint[])
), sharing AS (
  SELECT newest.key, count(*) AS shared FROM named CROSS JOIN LATERAL (
    SELECT m.key FROM mentions m
    {anti}JOIN features f ON f.bank_id = %(bank)s AND f.key = m.key AND {joined}
    WHERE m.bank_id = %(bank)s AND m.entity = named.entity AND {kept}
    ORDER BY m.key DESC LIMIT %(limit)s
  ) newest GROUP BY newest.key
), linked AS (
  SELECT l.source AS mine, l.target AS other,
    (l.kind = ANY(%(to_effect)s))::int - (l.kind = 'caused_by')::int AS causal, l.weight
  FROM seed JOIN links l ON l.bank_id = %(bank)s AND l.source = seed.key
  UNION ALL
  SELECT l.target, l.source,
    (l.kind = 'caused_by')::int - (l.kind = ANY(%(to_effect)s))::int, l.weight
  FROM seed JOIN links l ON l.bank_id = %(bank)s AND l.target = seed.key
), best AS (
  SELECT linked.mine, linked.other, linked.causal, max(linked.weight) AS weight
  FROM linked GROUP BY 1, 2, 3
), ranked AS (
  SELECT best.other, best.causal, best.weight, row_number() OVER (
    PARTITION BY best.mine ORDER BY best.weight DESC, best.other, best.causal) AS place
  FROM best {anti}JOIN features f ON f.bank_id = %(bank)s AND f.key = best.other AND {joined}
  WHERE {kept}
), met AS (
  SELECT sharing.key, sharing.shared, 0::double precision AS semantic, 0::double precision AS causal
  FROM sharing
  UNION ALL
  SELECT ranked.other, 0, CASE WHEN ranked.causal <> 0 THEN 0 ELSE ranked.weight END,
    CASE WHEN ranked.causal <> 0 THEN ranked.weight ELSE 0 END
  FROM ranked WHERE ranked.place <= %(limit)s
)
SELECT string_agg(int8send(whole.key) || float4send(whole.shared::real)
  || float4send(whole.semantic::real) || float4send(whole.causal::real), ''::bytea ORDER BY whole.key)
FROM (
  SELECT met.key, max(met.shared) AS shared, max(met.semantic) AS semantic, max(met.causal) AS causal
  FROM met GROUP BY met.key
) whole

-- name: edges
WITH linked AS (
  SELECT l.source AS mine, l.target AS other,
    (l.kind = ANY(%(to_effect)s))::int - (l.kind = 'caused_by')::int AS causal, l.weight
  FROM links l WHERE l.bank_id = %(bank)s AND l.source = ANY(%(keys)s::bigint[])
  UNION ALL
  SELECT l.target, l.source,
    (l.kind = 'caused_by')::int - (l.kind = ANY(%(to_effect)s))::int, l.weight
  FROM links l WHERE l.bank_id = %(bank)s AND l.target = ANY(%(keys)s::bigint[])
), best AS (
  SELECT linked.mine, linked.other, linked.causal, max(linked.weight) AS weight
  FROM linked GROUP BY 1, 2, 3
), ranked AS (
  SELECT best.mine, best.other, best.causal, best.weight, row_number() OVER (
    PARTITION BY best.mine ORDER BY best.weight DESC, best.other, best.causal) AS place
  FROM best {anti}JOIN features f ON f.bank_id = %(bank)s AND f.key = best.other AND {joined}
  WHERE {kept}
)
SELECT string_agg(int8send(ranked.mine) || int8send(ranked.other) || float4send(ranked.weight::real)
  || int2send(ranked.causal::smallint), ''::bytea ORDER BY ranked.mine, ranked.place)
FROM ranked WHERE ranked.place <= %(limit)s

-- name: sharing
-- Of each key by itself: who shares how many entities with it.
WITH pair AS (
  SELECT s.key AS mine, unnest(s.entities) AS entity FROM memories s
  WHERE s.bank_id = %(bank)s AND s.key = ANY(%(keys)s::bigint[])
), named AS (
  SELECT DISTINCT pair.entity FROM pair
), newest AS MATERIALIZED (
  SELECT named.entity, held.key FROM named CROSS JOIN LATERAL (
    SELECT m.key FROM mentions m
    {anti}JOIN features f ON f.bank_id = %(bank)s AND f.key = m.key AND {joined}
    WHERE m.bank_id = %(bank)s AND m.entity = named.entity AND {kept}
    ORDER BY m.key DESC LIMIT %(limit)s
  ) held
)
SELECT string_agg(int8send(whole.mine) || int8send(whole.key) || float4send(whole.shared::real),
  ''::bytea ORDER BY whole.mine, whole.key)
FROM (
  SELECT pair.mine, newest.key, count(*) AS shared FROM pair
  JOIN newest ON newest.entity = pair.entity GROUP BY 1, 2
) whole

-- name: naming
SELECT m.entity, count(*), (array_agg(m.key ORDER BY m.key DESC))[1:%(limit)s] FROM mentions m
{anti}JOIN features f ON f.bank_id = %(bank)s AND f.key = m.key AND {joined}
WHERE m.bank_id = %(bank)s AND m.entity = ANY(%(entities)s::bigint[]) AND {kept} GROUP BY m.entity

-- name: entities_of
SELECT m.key, m.entities FROM memories m
WHERE m.bank_id = %(bank)s AND m.key = ANY(%(keys)s::bigint[])

-- name: token_vectors
SELECT t.key, t.data FROM tokens t
WHERE t.bank_id = %(bank)s AND t.key = ANY(%(keys)s::bigint[]) AND t.data IS NOT NULL

-- name: nearest_indexed
SELECT asked.number, near.key, near.vector
FROM unnest(%(vectors)s::halfvec[]) WITH ORDINALITY AS asked (vector, number)
CROSS JOIN LATERAL (
  SELECT f.key, f.vector FROM features f
  WHERE f.bank_id = %(bank)s AND f.key <= %(indexed)s AND {allowed}
  ORDER BY f.vector::halfvec({dimensions}) <#> asked.vector::halfvec({dimensions}) LIMIT %(near)s
) near

-- name: slab
SELECT string_agg(int8send(s.key) || halfvec_send(s.vector), ''::bytea) FROM (
  SELECT f.key, f.vector FROM features f
  WHERE f.bank_id = %(bank)s AND f.key > %(after)s AND f.vector IS NOT NULL AND {allowed}
  ORDER BY f.key LIMIT %(limit)s
) s

-- name: same_statement
SELECT f.statement, f.key FROM features f
WHERE f.bank_id = %(bank)s AND f.statement = ANY(%(hashes)s::bigint[]) AND f.state IN (0, 1)
ORDER BY f.key

-- name: same_slot
SELECT f.slot, f.key FROM features f
WHERE f.bank_id = %(bank)s AND f.slot = ANY(%(hashes)s::bigint[]) AND f.slot <> 0
  AND f.state IN (0, 1)
ORDER BY f.key

-- name: similar
SELECT string_agg(int8send(f.key) || float4send((-(f.vector <#> %(vector)s))::real), ''::bytea)
FROM features f
WHERE f.bank_id = %(bank)s AND f.key = ANY(%(keys)s::bigint[]) AND f.vector IS NOT NULL

-- What an index in memory is made of, and what a view asks that has one.

-- name: index_slab
SELECT string_agg(int8send(s.key) || s.record || coalesce(halfvec_send(s.vector), %(blank)s), ''::bytea),
  string_agg(s.terms, ''::bytea), json_agg(length(s.terms))::text, json_agg(s.tags)::text,
  json_agg(s.entities)::text
FROM (
  SELECT f.key, f.record, f.vector, t.terms, f.tags, m.entities FROM features f
  JOIN tokens t ON t.bank_id = %(bank)s AND t.key = f.key AND t.key > %(after)s
  JOIN memories m ON m.bank_id = %(bank)s AND m.key = f.key AND m.key > %(after)s
  WHERE f.bank_id = %(bank)s AND f.key > %(after)s ORDER BY f.key LIMIT %(limit)s
) s

-- name: links_both_ways
WITH linked AS (
  SELECT l.source AS mine, l.target AS other,
    (l.kind = ANY(%(to_effect)s))::int - (l.kind = 'caused_by')::int AS causal, l.weight
  FROM links l WHERE l.bank_id = %(bank)s AND l.source = ANY(%(keys)s::bigint[])
  UNION ALL
  SELECT l.target, l.source,
    (l.kind = 'caused_by')::int - (l.kind = ANY(%(to_effect)s))::int, l.weight
  FROM links l WHERE l.bank_id = %(bank)s AND l.target = ANY(%(keys)s::bigint[])
), best AS (
  SELECT linked.mine, linked.other, linked.causal, max(linked.weight) AS weight
  FROM linked GROUP BY 1, 2, 3
)
SELECT string_agg(int8send(best.mine) || int8send(best.other) || float4send(best.weight::real)
  || int2send(best.causal::smallint), ''::bytea
  ORDER BY best.mine, best.weight DESC, best.other, best.causal)
FROM best

-- Operations and keys. Those marked "all banks" ask every bank at once, which is what they are for.

-- name: operation_of
SELECT o.id, o.bank_id, o.kind, o.state, o.items, o.attempts, o.error, o.created_at, o.updated_at,
  o.finished_at, o.not_before, o.steps, o.note, o.result, o.payload
FROM operations o WHERE o.bank_id = %(bank)s AND o.id = %(id)s

-- name: used_before
SELECT o.id, o.kind, o.fingerprint FROM operations o
WHERE o.bank_id = %(bank)s AND (o.id = %(id)s OR o.request_key = %(request_key)s::text)

-- name: accept
INSERT INTO operations (bank_id, id, number, kind, state, items, attempts, steps, note, payload,
  fingerprint, request_key, worker, token, lease_until, not_before, created_at, updated_at)
SELECT %(bank)s, %(id)s, coalesce(max(o.number), 0) + 1, %(kind)s, %(state)s, %(items)s,
  %(attempts)s, 0, '{}', %(payload)s, %(fingerprint)s, %(request_key)s, %(worker)s, %(token)s,
  %(lease_until)s, 0, %(now)s, %(now)s
FROM operations o WHERE o.bank_id = %(bank)s

-- name: claim
UPDATE operations o SET state = 'running', attempts = o.attempts + 1, worker = %(worker)s,
  token = %(token)s, lease_until = %(until)s, updated_at = %(now)s
WHERE o.bank_id = %(bank)s AND o.number = (SELECT min(h.number) FROM operations h
    WHERE h.bank_id = %(bank)s AND h.state IN ('pending', 'running'))
  AND ((o.state = 'pending' AND o.not_before <= %(now)s)
    OR (o.state = 'running' AND o.lease_until <= %(now)s))
RETURNING o.id

-- name: renew
UPDATE operations o SET lease_until = %(until)s
WHERE o.bank_id = %(bank)s AND o.id = %(id)s AND o.token = %(token)s AND o.state = 'running'

-- name: complete
UPDATE operations o SET state = 'done', result = %(result)s, payload = NULL, note = '{}',
  error = NULL, finished_at = %(now)s, updated_at = %(now)s, worker = NULL, token = NULL,
  lease_until = NULL
WHERE o.bank_id = %(bank)s AND o.id = %(id)s AND o.token = %(token)s AND o.state = 'running'

-- name: fail
UPDATE operations o SET state = 'failed', error = %(error)s, finished_at = %(now)s,
  updated_at = %(now)s, worker = NULL, token = NULL, lease_until = NULL
WHERE o.bank_id = %(bank)s AND o.id = %(id)s AND o.token = %(token)s AND o.state = 'running'

-- name: defer
UPDATE operations o SET state = 'pending', error = %(error)s, not_before = %(not_before)s,
  updated_at = %(now)s, worker = NULL, token = NULL, lease_until = NULL
WHERE o.bank_id = %(bank)s AND o.id = %(id)s AND o.token = %(token)s AND o.state = 'running'

-- name: cancel
UPDATE operations o SET state = 'cancelled', worker = NULL, token = NULL, lease_until = NULL,
  finished_at = %(now)s, updated_at = %(now)s
WHERE o.bank_id = %(bank)s AND o.id = %(id)s AND o.state IN ('pending', 'running')

-- name: retry
UPDATE operations o SET state = 'pending', attempts = 0, not_before = %(now)s, finished_at = NULL,
  updated_at = %(now)s
WHERE o.bank_id = %(bank)s AND o.id = %(id)s AND o.payload IS NOT NULL
  AND (o.state IN ('failed', 'cancelled') OR o.state = 'pending' AND o.not_before > %(now)s)

-- name: delete_operation
DELETE FROM operations o WHERE o.bank_id = %(bank)s AND o.id = %(id)s AND o.finished_at IS NOT NULL

-- name: operation_number
SELECT o.number FROM operations o WHERE o.bank_id = %(bank)s AND o.id = %(id)s

-- name: operations
SELECT o.id, o.bank_id, o.kind, o.state, o.items, o.attempts, o.error, o.created_at, o.updated_at,
  o.finished_at, o.not_before, o.steps, o.note, o.result, NULL
FROM operations o WHERE o.bank_id = %(bank)s
  AND (%(below)s::bigint IS NULL OR o.number < %(below)s)
  AND (%(state)s::text IS NULL OR o.state = %(state)s)
  AND (%(kind)s::text IS NULL OR o.kind = %(kind)s)
ORDER BY o.number DESC LIMIT %(limit)s

-- name: take_step
UPDATE operations o SET steps = %(number)s, note = %(note)s, updated_at = %(now)s
WHERE o.bank_id = %(bank)s AND o.id = %(id)s AND o.token = %(token)s AND o.state = 'running'
  AND o.steps < %(number)s

-- name: drop_ended_payloads
UPDATE operations o SET payload = NULL WHERE o.bank_id = %(bank)s AND o.finished_at IS NOT NULL

-- name: all_waiting
-- All banks: the head of each queue, where it can be claimed.
SELECT h.bank_id FROM (
  SELECT DISTINCT ON (o.bank_id) o.bank_id, o.state, o.not_before, o.lease_until, o.created_at
  FROM operations o WHERE o.state IN ('pending', 'running') ORDER BY o.bank_id, o.number
) h
WHERE (h.state = 'pending' AND h.not_before <= %(now)s)
   OR (h.state = 'running' AND h.lease_until <= %(now)s)
ORDER BY h.created_at, h.bank_id

-- name: all_due
-- All banks.
SELECT min(CASE h.state WHEN 'pending' THEN h.not_before ELSE h.lease_until END) FROM (
  SELECT DISTINCT ON (o.bank_id) o.bank_id, o.state, o.not_before, o.lease_until
  FROM operations o WHERE o.state IN ('pending', 'running') ORDER BY o.bank_id, o.number
) h

-- name: all_abandon
-- All banks.
UPDATE operations o SET state = 'pending', worker = NULL, token = NULL, lease_until = NULL,
  not_before = 0, updated_at = %(now)s
WHERE o.state = 'running' AND o.worker = %(worker)s

-- name: all_workers
-- All banks.
SELECT DISTINCT o.worker FROM operations o WHERE o.state = 'running' ORDER BY o.worker

-- name: all_counts
-- All banks, or one.
SELECT o.state, count(*) FROM operations o
WHERE %(bank)s::text IS NULL OR o.bank_id = %(bank)s GROUP BY o.state

-- name: all_purge
-- All banks.
DELETE FROM operations o WHERE o.finished_at IS NOT NULL AND o.finished_at < %(before)s

-- name: add_key
INSERT INTO keys (id, name, scopes, banks, created_at, expires_at, revoked_at, rate, max_body, digest)
VALUES (%(id)s, %(name)s, %(scopes)s, %(banks)s, %(created_at)s, %(expires_at)s, %(revoked_at)s,
  %(rate)s, %(max_body)s, %(digest)s)

-- name: find_key
SELECT k.id, k.name, k.scopes, k.banks, k.created_at, k.expires_at, k.revoked_at, k.rate, k.max_body,
  k.digest
FROM keys k WHERE k.id = %(id)s

-- name: all_keys
SELECT k.id, k.name, k.scopes, k.banks, k.created_at, k.expires_at, k.revoked_at, k.rate, k.max_body,
  k.digest
FROM keys k ORDER BY k.created_at, k.id

-- name: revoke_key
UPDATE keys k SET revoked_at = %(at)s WHERE k.id = %(id)s AND k.revoked_at IS NULL

import { bool, instant, int, orNull, sure, text } from '../database/column.ts'
import { statement } from '../database/statement.ts'

export const updateJwksUri = statement({
  name: 'update_client_jwks_uri',
  takes: { id: text, jwksUri: orNull(text), updatedAt: instant },
  text: 'UPDATE clients SET jwks_uri = :jwksUri, updated_at = :updatedAt WHERE id = :id',
})

/** To be read at once, and nothing is known of it. */
export const placeSet = statement({
  name: 'place_client_key_set',
  takes: { clientId: text, now: instant },
  text: `INSERT INTO client_key_sets (client_id, placed_at, due_at) VALUES (:clientId, :now, :now)
   ON CONFLICT (client_id) DO UPDATE SET placed_at = :now, read_at = NULL, etag = NULL, due_at = :now,
     claimed_at = NULL, wanted_at = NULL, failed_since = NULL, fault = NULL`,
})

export const deleteSet = statement({
  name: 'delete_client_key_set',
  takes: { clientId: text },
  text: 'DELETE FROM client_key_sets WHERE client_id = :clientId',
})

const shown = {
  clientId: text,
  jwksUri: sure(text),
  placedAt: instant,
  readAt: orNull(instant),
  failedSince: orNull(instant),
  fault: orNull(text),
}
const selectShown = `SELECT s.client_id AS "clientId", c.jwks_uri AS "jwksUri", s.placed_at AS "placedAt",
     s.read_at AS "readAt", s.failed_since AS "failedSince", s.fault
   FROM client_key_sets s JOIN clients c ON c.id = s.client_id`

export const selectSet = statement({
  name: 'select_client_key_set',
  takes: { clientId: text },
  gives: shown,
  text: `${selectShown} WHERE s.client_id = :clientId`,
})

export const selectSetsOfBranch = statement({
  name: 'select_client_key_sets_of_branch',
  takes: { branchId: int },
  gives: shown,
  text: `${selectShown} WHERE c.branch_id = :branchId`,
})

/** How long a worker may take, which asks for five seconds at most. */
const isFree = (set: string, now: string) =>
  `(${set}.claimed_at IS NULL OR ${set}.claimed_at <= ${now} - interval '30 seconds')`

const isDue = (set: string, client: string, partner: string, now: string) =>
  `${set}.due_at <= ${now} AND ${client}.status = 'active' AND may_act(${partner}.status, ${client}.environment)`

const sets = (set: string, client: string, partner: string) =>
  `client_key_sets ${set} JOIN clients ${client} ON ${client}.id = ${set}.client_id
     JOIN partners ${partner} ON ${partner}.branch_id = ${client}.branch_id`

/** For a round. */
export const areSetsDue = `EXISTS (SELECT FROM ${sets('s', 'c', 'p')}
   WHERE ${isDue('s', 'c', 'p', 'round.now')} AND ${isFree('s', 'round.now')})`

/** One at a time of a partner, the one that waits longest: slow addresses hold up nobody else's. */
export const claimSets = statement({
  name: 'claim_client_key_sets',
  takes: { now: instant, most: int },
  gives: { clientId: text, jwksUri: sure(text), etag: orNull(text) },
  text: `UPDATE client_key_sets claimed SET claimed_at = :now
   FROM (
     SELECT s.client_id, c.jwks_uri FROM ${sets('s', 'c', 'p')}
     WHERE ${isDue('s', 'c', 'p', ':now')} AND ${isFree('s', ':now')}
       AND NOT EXISTS (SELECT FROM ${sets('before', 'b', 'q')}
         WHERE b.branch_id = c.branch_id AND (NOT ${isFree('before', ':now')}
           OR ${isDue('before', 'b', 'q', ':now')} AND (before.due_at, b.id) < (s.due_at, c.id)))
     ORDER BY s.due_at LIMIT :most FOR NO KEY UPDATE OF s SKIP LOCKED
   ) AS due
   WHERE claimed.client_id = due.client_id
   RETURNING claimed.client_id AS "clientId", due.jwks_uri AS "jwksUri", claimed.etag`,
})

const settling = { clientId: text, jwksUri: text, claimedAt: instant, now: instant }

/** Still by this claim, at this address. */
const isClaimed = `client_id = :clientId AND claimed_at = :claimedAt
     AND EXISTS (SELECT FROM clients WHERE id = :clientId AND jwks_uri = :jwksUri)`

/** Whoever wanted it after it was claimed may want what came later. */
const nextDue = (dueAt: string) => `CASE WHEN wanted_at > claimed_at THEN :now::timestamptz ELSE ${dueAt} END`

export const settleRead = statement({
  name: 'settle_client_key_set_read',
  takes: {
    ...settling,
    etag: orNull(text),
    fault: orNull(text),
    dueAt: instant,
  },
  gives: { clientId: text },
  text: `UPDATE client_key_sets SET claimed_at = NULL, read_at = :now, etag = :etag, failed_since = NULL,
     fault = :fault, due_at = ${nextDue(':dueAt')}
   WHERE ${isClaimed} RETURNING client_id AS "clientId"`,
})

/** Soon again at first, then as often as one that is read. Keys that nobody could read for too long leave. */
export const settleFailed = statement({
  name: 'settle_client_key_set_failed',
  takes: { ...settling, fault: text, staleBefore: instant },
  gives: { isStale: sure(bool) },
  text: `UPDATE client_key_sets SET claimed_at = NULL, fault = :fault,
     failed_since = coalesce(failed_since, :now),
     etag = CASE WHEN coalesce(read_at, placed_at) > :staleBefore THEN etag END,
     due_at = ${nextDue(`:now::timestamptz + least(interval '10 minutes',
       greatest(interval '1 minute', :now::timestamptz - coalesce(failed_since, :now)))`)}
   WHERE ${isClaimed}
   RETURNING coalesce(read_at, placed_at) <= :staleBefore AS "isStale"`,
})

/** At most once in half a minute. Whoever asks in between hears whether it is being read, or about to be. */
export const wantSet = statement({
  name: 'want_client_key_set',
  takes: { clientId: text, now: instant },
  gives: { isComing: sure(bool) },
  text: `WITH asked AS (
     UPDATE client_key_sets SET wanted_at = :now, due_at = least(due_at, :now)
     WHERE client_id = :clientId AND (wanted_at IS NULL OR wanted_at <= :now::timestamptz - interval '30 seconds')
     RETURNING client_id)
   SELECT EXISTS (SELECT FROM asked) OR EXISTS (SELECT FROM client_key_sets s
     WHERE client_id = :clientId AND (due_at <= :now OR NOT ${isFree('s', ':now::timestamptz')})) AS "isComing"`,
})

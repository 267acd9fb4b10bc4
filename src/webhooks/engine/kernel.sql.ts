/** Lanes, as statements of the kernel's functions (migrations/0024-engine.sql). Each names one part. */
import { statement } from '../../database/database.ts'
import { entryColumns } from '../events/log.sql.ts'

export const partsToTake = 'parts_to_take(round.now)'

export const readEntries = statement(
  'read_entries',
  `SELECT ${entryColumns} FROM read_entries($1::smallint, $2, $3::bigint[], $4::int[])`,
)

export const readReplay = statement(
  'read_replay',
  `SELECT upto, ${entryColumns.replace(/\b(seq|day|uid|kind|action|entity|simulated|webhook_id|created_at|traceparent|body)\b/g, '(entry).$1')}
   FROM read_replay($1::smallint, $2, $3, $4, $5)`,
)

export const take = statement(
  'take_lanes',
  'SELECT webhook_id AS "webhookId" FROM take($1::smallint, $2, $3, $4, $5::bigint[])',
)

/** First of a transaction: its statements look at the same moment. */
export const readOneMoment = statement('read_one_moment', 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')

/** What the holder of a lane has to know; in a transaction after the one that took it. */
export const loadCursors = statement(
  'load_cursors',
  `SELECT webhook_id AS "webhookId", feed, position, epoch, holder, is_open AS "isOpen", failures, failing_since AS "failingSince",
     CASE WHEN isfinite(hold_until) THEN hold_until END AS "holdUntil",
     CASE WHEN isfinite(held_at) THEN held_at END AS "heldAt",
     coalesce((SELECT max(p.upto) FROM passes p WHERE p.part = $1 AND p.webhook_id = c.webhook_id), 0) AS passed
   FROM cursors c WHERE c.part = $1 AND c.webhook_id = ANY ($2::bigint[])`,
)

/** How far the feeds of lanes go. */
export const loadHeads = statement(
  'load_heads',
  'SELECT feed, feed_head($1::smallint, feed) AS head FROM (SELECT DISTINCT feed FROM cursors WHERE part = $1 AND webhook_id = ANY ($2::bigint[])) f',
)

export const loadFilters = statement(
  'load_filters',
  'SELECT webhook_id AS "webhookId", from_seq AS "fromSeq", kinds, actions FROM filters WHERE part = $1 AND webhook_id = ANY ($2::bigint[]) ORDER BY webhook_id, from_seq',
)

export const loadExceptions = statement(
  'load_exceptions',
  `SELECT webhook_id AS "webhookId", entity, seq, day, attempts, due_at AS "dueAt", written_at AS "writtenAt" FROM exceptions
   WHERE part = $1 AND webhook_id = ANY ($2::bigint[]) ORDER BY webhook_id, seq`,
)

export const loadAgains = statement(
  'load_agains',
  `SELECT webhook_id AS "webhookId", seq, round, day, entity, attempts, due_at AS "dueAt", written_at AS "writtenAt" FROM agains
   WHERE part = $1 AND webhook_id = ANY ($2::bigint[]) ORDER BY webhook_id, seq, round`,
)

/** What is done ahead of the position. */
export const loadAhead = statement(
  'load_ahead',
  `SELECT c.webhook_id AS "webhookId", o.seq FROM cursors c CROSS JOIN LATERAL (
     SELECT seq FROM outcomes WHERE part = $1 AND webhook_id = c.webhook_id AND seq > c.position AND round = 0 AND state <> 'retrying'
       AND day >= coalesce((SELECT max(d.day) FROM feed_days d WHERE d.part = $1 AND d.feed = c.feed AND d.first <= c.position + 1), 0) OFFSET 0) o
   WHERE c.part = $1 AND c.webhook_id = ANY ($2::bigint[])`,
)

/** What a replay that runs has finished ahead of its position. */
export const loadReplayed = statement(
  'load_replayed',
  `SELECT r.webhook_id AS "webhookId", o.seq FROM replay_cursors r CROSS JOIN LATERAL (
     SELECT seq FROM outcomes WHERE part = $1 AND webhook_id = r.webhook_id AND seq > r.position AND seq <= r.last AND round = r.round AND state <> 'retrying' OFFSET 0) o
   WHERE r.part = $1 AND r.webhook_id = ANY ($2::bigint[]) AND r.state = 'running'`,
)

export const loadReplays = statement(
  'load_replays',
  `SELECT DISTINCT ON (webhook_id) webhook_id AS "webhookId", round, position, last FROM replay_cursors
   WHERE part = $1 AND webhook_id = ANY ($2::bigint[]) AND state = 'running' ORDER BY webhook_id, round`,
)

/** When attempts were begun that are newer than $3, of webhooks that have a rate: whoever takes a lane goes on with what is left of its second. */
export const loadBegun = statement(
  'load_begun',
  `SELECT c.webhook_id AS "webhookId", o.at FROM cursors c CROSS JOIN LATERAL (
     SELECT coalesce(max(d.day), 0) AS day FROM feed_days d WHERE d.part = $1 AND d.feed = c.feed AND d.first <= c.position) f CROSS JOIN LATERAL (
     SELECT at FROM outcomes WHERE part = $1 AND webhook_id = c.webhook_id AND day >= f.day ORDER BY seq DESC LIMIT 1000) o
   WHERE c.part = $1 AND c.webhook_id = ANY ($2::bigint[]) AND o.at > $3 ORDER BY o.at`,
)

export const settle = statement(
  'settle',
  `SELECT webhook_id AS "webhookId", entity, next, next_day AS "nextDay" FROM settle($1::smallint, $2, $3,
     $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::timestamptz[], $9::int[], $10::timestamptz[],
     $11::bigint[], $12::bigint[], $13::int[], $14::smallint[], $15::int[], $16::timestamptz[], $17::int[], $18::smallint[], $19::text[], $20::text[], $21::text[], $22::bigint[],
     $23::bigint[], $24::bigint[], $25::text[], $26::text[],
     $27::bigint[], $28::text[], $29::bigint[], $30::int[], $31::smallint[], $32::timestamptz[],
     $33::bigint[], $34::bigint[], $35::int[], $36::int[], $37::text[], $38::smallint[], $39::timestamptz[],
     $40::bigint[], $41::int[], $42::bigint[], $43::int[])`,
)

export const rest = statement(
  'rest_lanes',
  'SELECT webhook_id AS "webhookId" FROM rest($1::smallint, $2, $3::bigint[], $4::bigint[], $5::bigint[], $6::timestamptz[])',
)

export const giveBack = statement('give_back_lanes', 'SELECT give_back($1::smallint, $2::bigint[], $3::bigint[])')

export const freeLanes = statement('free_lanes', 'SELECT free_lanes($1::smallint, $2::int[]) AS freed')

export const keepLanes = statement('keep_lanes', 'SELECT keep_lanes($1::smallint, $2, $3)')

/** Workers that hold lanes of a part. */
export const selectHolders = statement(
  'select_holders',
  'SELECT DISTINCT holder FROM cursors WHERE part = $1 AND holder IS NOT NULL',
)

/** The lanes that are a worker's: $2 is every number that it had. */
export const selectHeld = statement(
  'select_held_lanes',
  'SELECT webhook_id AS "webhookId" FROM cursors WHERE part = $1 AND holder = ANY ($2::int[])',
)

/** Those of them ($3) that it does not know of: what it may once have known counts no more. */
export const takeForgotten = statement(
  'take_forgotten_lanes',
  `UPDATE cursors SET epoch = epoch + 1 WHERE part = $1 AND webhook_id = ANY (ARRAY(
     SELECT webhook_id FROM cursors WHERE part = $1 AND holder = ANY ($2::int[]) AND webhook_id = ANY ($3::bigint[]) ORDER BY webhook_id FOR NO KEY UPDATE))
   RETURNING webhook_id AS "webhookId"`,
)

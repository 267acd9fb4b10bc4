/** The log, as statements of the kernel's functions (migrations/0024-engine.sql): publishing, numbering and reading. Each names one part. */
import { statement } from '../../database/database.ts'

export const entryColumns = `seq, day, uid, kind, action, entity, simulated, webhook_id AS "webhookId", created_at AS "createdAt", traceparent, body`

/** Numbers what it can of $3 at most, where nobody else is at the part; otherwise no row, and the sequencer that is at it, or the next, takes what is there. */
export const publish = statement(
  'publish_events',
  `SELECT feed, ${entryColumns}, woken FROM publish($1::smallint, $2, $3, $4::int[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::boolean[], $11::bigint[], $12::text[])
   ORDER BY feed, seq`,
)

export const look = statement(
  'look',
  `SELECT feed, ${entryColumns}, woken FROM look($1::smallint, $2, $3) ORDER BY feed, seq`,
)

/** How long this transaction waits for others at most. */
export const beImpatientFor = statement('be_impatient', "SELECT set_config('lock_timeout', $1, true)")

export const partsToLook = 'parts_to_look()'

export const readLog = statement('read_log', `SELECT ${entryColumns} FROM read_log($1::smallint, $2, $3, $4, $5)`)

export const selectHeads = statement(
  'select_feed_heads',
  'SELECT feed, feed_head($1::smallint, feed) AS head FROM unnest($2::int[]) AS feed',
)

export const notify = statement('notify_workers', "SELECT pg_notify('countersign_work', $1)")

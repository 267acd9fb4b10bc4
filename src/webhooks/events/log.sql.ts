/**
 * The log, as statements of the kernel's functions (migrations/0012-engine.sql): publishing, numbering and
 * reading. Each names one part.
 */
import { bool, instant, int, list, oneOf, orNull, text, uuid } from '../../database/column.ts'
import { statement } from '../../database/statement.ts'
import { kinds } from './kind.ts'

export const entryColumns = `seq, day, uid, kind, action, entity, simulated, webhook_id AS "webhookId",
  created_at AS "createdAt", traceparent, body`

export const entryRow = {
  seq: int,
  day: int,
  uid: uuid,
  kind: oneOf(...kinds),
  action: text,
  entity: text,
  simulated: bool,
  webhookId: orNull(int),
  createdAt: instant,
  traceparent: orNull(text),
  body: text,
}

const numberedRow = { ...entryRow, feed: int, woken: int }

/**
 * Numbers what it can, of `most` at most, unless another sequencer holds the part; then it answers no row,
 * and that sequencer, or the next, takes what is there.
 */
export const publish = statement({
  name: 'publish_events',
  takes: {
    part: int,
    now: instant,
    most: int,
    feeds: list(int),
    uids: list(uuid),
    kinds: list(oneOf(...kinds)),
    actions: list(text),
    entities: list(text),
    bodies: list(text),
    simulations: list(bool),
    webhooks: list(orNull(int)),
    traceparents: list(orNull(text)),
  },
  gives: numberedRow,
  text: `SELECT feed, ${entryColumns}, woken
    FROM publish(:part::smallint, :now, :most, :feeds::int[], :uids::uuid[], :kinds::text[], :actions::text[],
      :entities::text[], :bodies::text[], :simulations::boolean[], :webhooks::bigint[], :traceparents::text[])
   ORDER BY feed, seq`,
})

export const look = statement({
  name: 'look',
  takes: { part: int, now: instant, most: int },
  gives: numberedRow,
  text: `SELECT feed, ${entryColumns}, woken FROM look(:part::smallint, :now, :most) ORDER BY feed, seq`,
})

/** How long this transaction waits at most for locks of others. */
export const setLockTimeout = statement({
  name: 'set_lock_timeout',
  takes: { timeout: text },
  text: "SELECT set_config('lock_timeout', :timeout, true)",
})

export const partsToLook = 'parts_to_look()'

export const readLog = statement({
  name: 'read_log',
  takes: { part: int, feed: int, after: int, most: int, bytes: int },
  gives: entryRow,
  text: `SELECT ${entryColumns} FROM read_log(:part::smallint, :feed, :after, :most, :bytes)`,
})

export const selectHeads = statement({
  name: 'select_feed_heads',
  takes: { part: int, feeds: list(int) },
  gives: { feed: int, head: int },
  text: 'SELECT feed, feed_head(:part::smallint, feed) AS head FROM unnest(:feeds::int[]) AS feed',
})

export const notify = statement({
  name: 'notify_workers',
  takes: { news: text },
  text: "SELECT pg_notify('countersign_work', :news)",
})

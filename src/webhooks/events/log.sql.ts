/**
 * The log, as statements of the kernel's functions (migrations/0012-engine.sql): publishing, numbering and
 * reading. Each names one part.
 */
import {
  bool,
  hash64,
  instant,
  int,
  jsonText,
  list,
  oneOf,
  orNull,
  text,
  uuid,
} from '../../database/column.ts'
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

/**
 * Appends what was carried to its part: how many lanes were woken, the day, and the number of each event, null
 * for one that was there already.
 */
export const append = statement({
  name: 'append_carried',
  takes: {
    part: int,
    now: instant,
    feeds: list(int),
    simulations: list(bool),
    webhooks: list(orNull(int)),
    moments: list(instant),
    uids: list(uuid),
    kinds: list(oneOf(...kinds)),
    actions: list(text),
    entities: list(text),
    traceparents: list(orNull(text)),
    bodies: list(text),
  },
  gives: { appended: list(orNull(int)) },
  text: `SELECT append(:part::smallint, :now, :feeds::int[], :simulations::boolean[], :webhooks::bigint[],
      :moments::timestamptz[], :uids::uuid[], :kinds::text[], :actions::text[], :entities::text[],
      :traceparents::text[], :bodies::text[]) AS appended`,
})

/** One carrier of a part at a time. */
export const lockOutbox = statement({
  name: 'lock_outbox',
  takes: { part: int },
  text: 'SELECT FROM outbox_floors WHERE part = :part FOR NO KEY UPDATE',
})

/** What is next of a part, for the transaction that has locked it and deletes it when it was carried. */
export const takeOutbox = statement({
  name: 'take_outbox',
  takes: { part: int, now: instant, most: int },
  gives: {
    id: int,
    feed: int,
    simulated: bool,
    webhookId: orNull(int),
    createdAt: instant,
    uid: uuid,
    kind: oneOf(...kinds),
    action: text,
    entity: text,
    traceparent: orNull(text),
    body: text,
  },
  text: `SELECT id, feed, simulated, webhook_id AS "webhookId", created_at AS "createdAt", uid, kind, action,
      entity, traceparent, body
    FROM take_outbox(:part::smallint, :now, :most) ORDER BY id`,
})

export const deleteCarried = statement({
  name: 'delete_carried',
  takes: { part: int, ids: list(int) },
  text: 'DELETE FROM outbox WHERE part = :part AND id = ANY (:ids::bigint[])',
})

export const takeAct = statement({
  name: 'take_act',
  takes: { part: int },
  gives: {
    id: int,
    webhookId: orNull(int),
    feed: int,
    isActive: orNull(bool),
    mayAct: orNull(bool),
    kinds: orNull(list(text)),
    actions: orNull(text),
    address: orNull(text),
  },
  text: `SELECT id, webhook_id AS "webhookId", feed, is_active AS "isActive", may_act AS "mayAct", kinds,
      actions::text AS actions, address::text
    FROM outbox_acts WHERE part = :part ORDER BY id LIMIT 1`,
})

export const followAct = statement({
  name: 'follow_act',
  takes: {
    part: int,
    webhookId: orNull(int),
    feed: int,
    isActive: orNull(bool),
    mayAct: orNull(bool),
    kinds: orNull(list(text)),
    actions: orNull(jsonText),
    address: orNull(hash64),
  },
  text: `SELECT follow_act(:part::smallint, :webhookId::bigint, :feed, :isActive, :mayAct, :kinds::text[],
    :actions::jsonb, :address)`,
})

/** Those who hold its lanes load them anew. */
export const deleteAct = statement({
  name: 'delete_act',
  takes: { part: int, id: int, tag: text },
  text: `WITH gone AS (DELETE FROM outbox_acts WHERE part = :part AND id = :id)
    SELECT announce(:tag), pg_notify('countersign_work', ' ' || :part::int || ' ')`,
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
  text: `SELECT (:feeds::int[])[place] AS feed, head FROM feed_heads(:part::smallint, :feeds::int[])`,
})

export const notify = statement({
  name: 'notify_workers',
  takes: { news: text },
  text: "SELECT pg_notify('countersign_work', :news)",
})

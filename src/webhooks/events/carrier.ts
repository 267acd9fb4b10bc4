/**
 * Where the parts lie on other servers, what was published is carried there, in order: read beside the
 * publishers, appended on the part's server, deleted. A carrier that ends in between leaves it where it was,
 * and the next appends only what is not there yet. Acts on webhooks go the same way.
 */
import { type Database, DatabaseUnavailable, isBlocked, type Sql } from '../../database/database.ts'
import type { RowOf } from '../../database/statement.ts'
import * as log from './log.sql.ts'
import { printNews } from './news.ts'
import { entriesAtMost, type NumberedBatch, numberedBy } from './numbered-batch.ts'
import { branchOfFeed, poolOf } from './part.ts'

interface CarryOptions {
  readonly now: Date
  /** Told of what is in the log: before it has left the outbox, where it does no harm. */
  readonly numbered: (batch: NumberedBatch) => void
  /** How long it waits at most for another carrier of the part. */
  readonly patience?: { readonly timeout: string }
}

/** Answers whether there may be more. */
export async function carry(db: Database, part: number, options: CarryOptions): Promise<boolean> {
  return (await carryNext(db, part, options)).isMore
}

/**
 * For an act whose caller wants to go on from it: everything up to it is carried. Where that is not to be had
 * now, a sequencer does it later.
 */
export async function carrySoon(db: Database, part: number, now: Date): Promise<void> {
  const batches: NumberedBatch[] = []
  const options = { now, numbered: (batch: NumberedBatch) => batches.push(batch) }
  try {
    while ((await carryNext(db, part, { ...options, patience: { timeout: '1s' } })).act);
    const feeds = batches.flatMap(({ entries }) => entries.map(({ feed, seq }) => ({ feed, head: seq })))
    if (feeds.length > 0) await db.query(log.notify, { news: printNews({ feeds, parts: [part] }) })
  } catch (error) {
    if (!isBlocked(error) && !(error instanceof DatabaseUnavailable)) throw error
  }
}

type Act = RowOf<typeof log.takeAct>

/** The events before the next act, or the act where there are none. Answers the act. */
function carryNext(db: Database, part: number, { now, numbered, patience }: CarryOptions) {
  return db.transaction(async (sql) => {
    if (patience) await sql.query(log.setLockTimeout, patience)
    // In this order: what was published before the act is seen by who has seen the act.
    const [, [act], events] = await Promise.all([
      sql.query(log.lockOutbox, { part }),
      sql.query(log.takeAct, { part }),
      sql.query(log.takeOutbox, { part, now, most: entriesAtMost }),
    ])
    const isMore = events.length === entriesAtMost || act !== undefined
    if (events.length === 0 && act) await carryAct(db, sql, part, act)
    if (events.length > 0) {
      const entries = await append(db, part, now, events)
      if (entries.length > 0) numbered(numberedBy(part, entries))
      await sql.query(log.deleteCarried, { part, ids: events.map(({ id }) => id) })
    }
    return { isMore, act }
  })
}

type OutboxEvent = RowOf<typeof log.takeOutbox>

async function append(db: Database, part: number, now: Date, events: readonly OutboxEvent[]) {
  const { appended } = await poolOf(db, part).one(log.append, {
    part,
    now,
    feeds: events.map(({ feed }) => feed),
    simulations: events.map(({ simulated }) => simulated),
    webhooks: events.map(({ webhookId }) => webhookId),
    moments: events.map(({ createdAt }) => createdAt),
    uids: events.map(({ uid }) => uid),
    kinds: events.map(({ kind }) => kind),
    actions: events.map(({ action }) => action),
    entities: events.map(({ entity }) => entity),
    traceparents: events.map(({ traceparent }) => traceparent),
    bodies: events.map(({ body }) => body),
  })
  return entriesOf(events, appended)
}

/** As they stand in the log. Those that were there already have been told of, or are found by a look. */
function entriesOf(events: readonly OutboxEvent[], [woken, day, ...numbers]: readonly (number | null)[]) {
  return events.flatMap(({ id: _, ...event }, place) => {
    const seq = numbers[place] ?? undefined
    return seq === undefined ? [] : [{ ...event, seq, day: day ?? 0, woken: woken ?? 0 }]
  })
}

/** Called with the outbox of the part locked. */
async function carryAct(db: Database, sql: Sql, part: number, act: Act): Promise<void> {
  const { id, ...wishes } = act
  await poolOf(db, part).query(log.followAct, { part, ...wishes })
  const { webhookId, feed } = act
  const tag = webhookId === null ? `branch:${branchOfFeed(feed).branchId}` : `webhook:${webhookId}`
  await sql.query(log.deleteAct, { part, id, tag })
}

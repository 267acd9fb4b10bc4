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

/** `patience`: how long it waits at most for another carrier of the part. */
export async function carry(
  db: Database,
  part: number,
  now: Date,
  patience?: Patience,
): Promise<NumberedBatch> {
  return (await carryNext(db, part, now, patience)).batch
}

interface Patience {
  readonly timeout: string
}

/**
 * For an act whose caller wants to go on from it: everything up to it is carried. Where that is not to be had
 * now, a sequencer does it later.
 */
export async function carrySoon(db: Database, part: number, now: Date): Promise<void> {
  try {
    for (let isMore = true; isMore; ) {
      const { batch, act } = await carryNext(db, part, now, { timeout: '1s' })
      const feeds = batch.entries.map(({ feed, seq }) => ({ feed, head: seq }))
      if (feeds.length > 0) await db.query(log.notify, { news: printNews({ feeds, parts: [part] }) })
      isMore = act !== undefined
    }
  } catch (error) {
    if (!isBlocked(error) && !(error instanceof DatabaseUnavailable)) throw error
  }
}

type Act = RowOf<typeof log.takeAct>

/** The events before the next act, or the act where there are none. Answers them, and the act. */
function carryNext(db: Database, part: number, now: Date, patience?: Patience) {
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
    const entries = events.length === 0 ? [] : await carryEvents(db, sql, { part, now, events })
    return { batch: numberedBy(part, entries, isMore), act }
  })
}

type OutboxEvent = RowOf<typeof log.takeOutbox>

async function carryEvents(
  db: Database,
  sql: Sql,
  {
    part,
    now,
    events,
  }: { readonly part: number; readonly now: Date; readonly events: readonly OutboxEvent[] },
) {
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
  await sql.query(log.deleteCarried, { part, ids: events.map(({ id }) => id) })
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

/**
 * The books of a quarter: what was published, and every delivery and number of the log as they were last
 * seen. The promises are held against them.
 */
import { allParts, poolOf } from '../../src/webhooks/events/part.ts'
import { ask } from './ask.ts'
import type { DeliveryRow, Engine } from './engine.ts'
import type { Hook } from './quarter-receivers.ts'

export interface LedgerEvent {
  readonly uid: string
  readonly branchId: number
  readonly entity: string
  /** Among all that were published. */
  readonly place: number
  /** The webhooks that wanted it. */
  readonly wantedBy: readonly number[]
}

export interface LedgerEntry {
  readonly uid: string
  readonly day: number
}

export interface LedgerDelivery extends DeliveryRow {
  /** Of its entry in the log. */
  readonly day: number
}

const unfinished = ['waiting', 'blocked']

export class Books {
  readonly events = new Map<string, LedgerEvent>()
  readonly deliveries = new Map<string, LedgerDelivery>()
  /** By branch and number. */
  readonly log = new Map<string, LedgerEntry>()
  /** Deliveries that somebody skipped, or whose webhook somebody skipped to now. */
  readonly skipped = new Set<string>()
  readonly problems: string[] = []
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  enter(event: Omit<LedgerEvent, 'place'>): void {
    this.events.set(event.uid, { ...event, place: this.events.size + 1 })
  }

  /** What has ended stays as it ended, until its day leaves. */
  async keep(hooks: readonly Hook[]): Promise<void> {
    const days = await this.#keepLog()
    for (const { webhook } of hooks)
      for (const row of await this.#engine.deliveries(webhook)) {
        const known = this.deliveries.get(row.id)
        if (known && !unfinished.includes(known.state) && known.state !== row.state)
          this.problems.push(`delivery ${row.id} was ${known.state}, is ${row.state}`)
        // Numbered since the log was read: it is entered the next time.
        const day = days.get(row.uid)
        if (day !== undefined) this.deliveries.set(row.id, { ...row, day })
      }
  }

  /** Of each event that is there, its day. */
  async #keepLog(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#engine.sql<LedgerEntry & { key: string }>(
      `SELECT feed / 2 || ':' || seq AS key, uid, day FROM log`,
    )
    for (const { key, uid, day } of rows) {
      if ((this.log.get(key)?.uid ?? uid) !== uid) this.problems.push(`${key} of the log was given twice`)
      this.log.set(key, { uid, day })
    }
    return new Map(rows.map(({ uid, day }) => [uid, day]))
  }

  async areNumbered(uids: readonly string[]): Promise<boolean> {
    const text = 'SELECT count(*) FROM log WHERE uid = ANY ($1::uuid[])'
    const [row] = await this.#engine.sql<{ count: number }>(text, [uids])
    return row!.count === uids.length
  }

  async isAnythingWaiting(): Promise<boolean> {
    const { waiting, blocked } = await this.#engine.unfinished()
    const running = await this.#engine.sql(`SELECT FROM replay_cursors WHERE state = 'running' LIMIT 1`)
    return waiting + blocked + running.length > 0
  }

  /** The cursors of those that have not come to the end, as they are. */
  async findWaiting(now: Date): Promise<object[]> {
    const { db } = this.#engine
    const found = await Promise.all(allParts.map((part) => ask(poolOf(db, part), selectLanes, [part, now])))
    return found.flat()
  }
}

const selectLanes = `SELECT to_jsonb(c) AS cursor, $2::timestamptz AS now,
    (SELECT max(l.seq) FROM log l WHERE l.part = $1 AND l.feed = c.feed) AS head,
    ARRAY(SELECT to_jsonb(x) FROM exceptions x WHERE x.part = $1 AND x.webhook_id = c.webhook_id) AS exceptions,
    ARRAY(SELECT to_jsonb(g) FROM agains g WHERE g.part = $1 AND g.webhook_id = c.webhook_id) AS agains,
    ARRAY(SELECT to_jsonb(r) FROM replay_cursors r WHERE r.part = $1 AND r.webhook_id = c.webhook_id
      AND state = 'running') AS replays
  FROM cursors c WHERE c.part = $1`

/** The books of a quarter: what was published, and every delivery and number of the log as they were last seen. The promises are held against them. */
import type { Engine } from './engine.ts'

export interface LedgerEvent {
  readonly id: number
  readonly uid: string
  readonly branchId: number
  readonly entity: string
  /** Among all that were published. */
  readonly place: number
  /** The webhooks that wanted it. */
  readonly wantedBy: readonly number[]
}

export interface LedgerDelivery {
  readonly id: number
  readonly webhook_id: number
  readonly event_id: number
  readonly state: string
  readonly attempts: number
  readonly repeats: number | null
}

export class Books {
  readonly events = new Map<number, LedgerEvent>()
  readonly deliveries = new Map<number, LedgerDelivery>()
  /** By branch and number, the event. */
  readonly log = new Map<string, number>()
  readonly problems: string[] = []
  readonly #sql: Engine['sql']

  constructor({ sql }: Engine) {
    this.#sql = sql
  }

  enter(event: Omit<LedgerEvent, 'place'>): void {
    this.events.set(event.id, { ...event, place: this.events.size + 1 })
  }

  /** What has ended stays as it ended, until its day leaves. */
  async keep(): Promise<void> {
    for (const row of await this.#sql<LedgerDelivery>(
      'SELECT id, webhook_id, event_id, state, attempts, repeats FROM deliveries',
    )) {
      const known = this.deliveries.get(row.id)
      const hasEnded = known && !['waiting', 'blocked'].includes(known.state)
      if (hasEnded && known.state !== row.state)
        this.problems.push(`delivery ${row.id} was ${known.state}, is ${row.state}`)
      this.deliveries.set(row.id, row)
    }
    const logged = await this.#sql<{ key: string; event_id: number }>(
      `SELECT branch_id || ':' || sequence AS key, event_id FROM branch_log`,
    )
    for (const { key, event_id } of logged) {
      if ((this.log.get(key) ?? event_id) !== event_id) this.problems.push(`${key} of the log was given twice`)
      this.log.set(key, event_id)
    }
  }

  async areNumbered(ids: readonly number[]): Promise<boolean> {
    const text = 'SELECT count(*) FROM branch_log WHERE event_id = ANY ($1::bigint[])'
    const [row] = await this.#sql<{ count: number }>(text, [ids])
    return row!.count === ids.length
  }

  /** Changes as long as somebody does something. */
  async countWork(): Promise<number> {
    const [row] = await this.#sql<{ work: number }>(
      `SELECT (SELECT count(*) FROM replays WHERE state = 'running') * 1000000 + (SELECT last_value FROM delivery_numbers) AS work`,
    )
    return row!.work
  }

  async isAnythingQueued(): Promise<boolean> {
    return (await this.#sql('SELECT FROM queued_deliveries LIMIT 1')).length > 0
  }

  /** The lanes of what waits, as they are. */
  findWaiting(now: Date): Promise<object[]> {
    return this.#sql(
      `SELECT l.*, w.state, p.status, count(*) AS waiting, min(q.due_at) AS due, $1::timestamptz AS now FROM queued_deliveries q
       JOIN lanes l USING (webhook_id) JOIN webhooks w ON w.id = l.webhook_id JOIN partners p USING (branch_id)
       GROUP BY l.webhook_id, w.id, p.branch_id`,
      [now],
    )
  }
}

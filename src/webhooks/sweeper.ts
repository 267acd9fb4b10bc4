/**
 * Looks for what must never be, and mends what can be mended, so that a mistake of ours costs somebody a minute and not their events.
 * It is found, counted and told: an alert says that it happened.
 */
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { Database, Sql, Statement } from '../database/database.ts'
import * as table from './invariants.sql.ts'
import { type Broken, findBroken, type Promised, promises } from './invariants.ts'
import { tellLanes } from './lanes.sql.ts'
import { writeToPart } from './part.ts'

export interface SweeperDesk {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  /** Absent when nobody asks. */
  readonly metrics: { swept(swept: Swept): void } | undefined
}

export interface Swept {
  readonly broken: readonly Broken[]
  readonly mended: number
}

/** What each of them mends, in this order: a chain is joined where an event is missing. */
const mends: readonly [statement: Statement, mended: readonly Promised[]][] = [
  [table.settleEventless, ['event']],
  [table.chainAnew, ['event', 'chain', 'order']],
  [table.showHidden, ['sight']],
  [table.wakeAsleep, ['attention']],
]

const mendedAtOnce = 1_000

export async function sweepOnce({ db, clock, log, metrics }: SweeperDesk): Promise<Swept> {
  const broken = await findBroken(db, clock.now())
  let mended = 0
  for (const [part, found] of Map.groupBy(broken, (each) => each.part))
    mended += await writeToPart(db, part, (sql) => mendPart(sql, part, found, clock.now()))
  const swept = { broken, mended }
  metrics?.swept(swept)
  for (const { promise, subject } of broken)
    log.error({ promise: promises[promise], subject }, 'a promise of the delivery engine was broken')
  if (mended > 0) log.error({ mended }, 'what was broken has been mended')
  return swept
}

async function mendPart(sql: Sql, part: number, found: readonly Broken[], now: Date): Promise<number> {
  const webhookIds: number[] = []
  for (const [mend, mended] of mends) {
    if (!found.some(({ promise }) => mended.includes(promise))) continue
    const values = mend === table.showHidden || mend === table.wakeAsleep ? [part, now] : [part, now, mendedAtOnce]
    const rows = await sql.query<{ webhook_id: number }>(mend, values)
    webhookIds.push(...rows.map((row) => row.webhook_id))
  }
  if (webhookIds.length > 0) await sql.query(tellLanes, [webhookIds, now])
  return webhookIds.length
}

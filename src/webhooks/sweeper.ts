/**
 * Looks for what must never be, and mends what can be mended (reconciliation), so that a mistake of ours costs somebody a minute and not
 * their events. It is found, counted and told: an alert says that it happened.
 */
import type { Logger } from 'pino'
import { gatewayAct, recordAct } from '../audit/audit.ts'
import type { Clock } from '../clock.ts'
import type { Database, Sql, Statement } from '../database/database.ts'
import * as table from './invariants.sql.ts'
import { type Broken, findBroken, type Promised, printBroken } from './invariants.ts'
import { tellLanes, wakeOthers } from './lanes.sql.ts'
import { writeToPart } from './part.ts'

interface SweeperDesk {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  /** Absent when nobody asks. */
  readonly metrics: { swept(swept: Swept): void } | undefined
}

export interface Swept {
  readonly broken: readonly Broken[]
  /** Rows that were changed. */
  readonly mended: number
}

interface Sweeper {
  sweep(): Promise<Swept>
}

/** What each of them mends, in this order: a chain is joined where an event is missing, and a lane wakes for what can be seen. */
const mends: readonly [mend: Statement, mended: readonly Promised[]][] = [
  [table.settleEventless, ['event']],
  [table.chainAnew, ['event', 'chain', 'order']],
  [table.showHidden, ['sight']],
  [table.clearAgain, ['cleared']],
  [table.wakeAsleep, ['attention']],
]

const mendedAtOnce = 2_000

export function openSweeper({ db, clock, log, metrics }: SweeperDesk): Sweeper {
  let seen: ReadonlySet<string> = new Set()

  /** After all nodes were away, leases are over until the first worker looks: only what stays so is broken. */
  async function findLasting(): Promise<readonly Broken[]> {
    const found = await findBroken(db, clock.now())
    const before = seen
    seen = new Set(found.map(printBroken))
    return found.filter((each) => each.promise !== 'lease' || before.has(printBroken(each)))
  }

  return {
    async sweep() {
      const broken = await findLasting()
      let mended = 0
      for (const [part, found] of Map.groupBy(broken, (each) => each.part))
        mended += await writeToPart(db, part, (sql) => mendPart(sql, part, found, clock.now()))
      const swept = { broken, mended }
      metrics?.swept(swept)
      for (const { promise, subject } of broken)
        log.error(
          { promise, subject },
          `a promise of the delivery engine was broken: ${printBroken({ promise, subject })}`,
        )
      if (mended > 0) log.error({ mended }, 'what was broken has been mended')
      return swept
    },
  }
}

async function mendPart(sql: Sql, part: number, found: readonly Broken[], now: Date): Promise<number> {
  const webhookIds: number[] = []
  for (const [mend, mended] of mends) {
    if (!found.some(({ promise }) => mended.includes(promise))) continue
    const rows = await sql.query<{ webhookId: number }>(mend, [part, now, mendedAtOnce])
    webhookIds.push(...rows.map((row) => row.webhookId))
  }
  if (webhookIds.length === 0) return 0
  await sql.query(tellLanes, [webhookIds, now])
  await sql.query(wakeOthers)
  for (const [webhookId, { length }] of Map.groupBy(webhookIds, (id) => id))
    await recordAct(sql, gatewayAct(now), 'webhook.mended', `webhook:${webhookId}`, { rows: length })
  return webhookIds.length
}

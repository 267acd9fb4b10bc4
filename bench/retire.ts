/**
 * What it takes to retire a day of a million deliveries, beside deleting the same rows; and the memory of who
 * does it.
 */
import { retireOnce } from '../src/webhooks/deliveries/retention.ts'
import type { Benchmark } from './benchmark.ts'
import { type GatewayUnderTest, startEmptyGateway } from './gateway.ts'
import { fillHistory } from './history.ts'
import { readResidentMiB } from './overload.ts'
import { type Result, withinLimit } from './report.ts'

const aDay = 1_000_000
/** Younger than what the gateway retires by itself. */
const [firstDayAgo, droppedDaysAgo, deletedDaysAgo] = [28, 25, 20]
/** Of the answers, and of the log with its outcomes. */
const daysLeaving = 2
const growthLimitMiB = 16

export const retire: Benchmark = {
  name: 'retire',
  async run(stage, { rows = aDay }) {
    const gateway = await startEmptyGateway(stage)
    const branchIds = [await gateway.makeBranch([]), await gateway.makeBranch([])]
    const day = { branchIds, days: 1, deliveriesADay: rows }
    await fillHistory(gateway, { ...day, deliveriesADay: 1_000, endedDaysAgo: firstDayAgo })
    await retireAllBut(gateway, droppedDaysAgo)
    await fillHistory(gateway, { ...day, endedDaysAgo: droppedDaysAgo })
    const [deleted] = await fillHistory(gateway, { ...day, endedDaysAgo: deletedDaysAgo })
    const before = readResidentMiB(process.pid)
    const ours = await time(() => retireAllBut(gateway, deletedDaysAgo))
    const grown = readResidentMiB(process.pid) - before
    const deleting = await time(() => deleteDay(gateway, deleted!))
    const vacuuming = await time(() => gateway.db.script('VACUUM'))
    const row = {
      name: `retire, a day of ${rows.toLocaleString('en')}`,
      goal: 0.02,
      atMost: true,
      ours,
      unit: 'ms',
    }
    const beside = (against: string, theirs: number): Result => ({
      ...row,
      against,
      theirs,
      ratio: ours / theirs,
    })
    return [
      beside('DELETE of the same rows', deleting),
      beside('DELETE and VACUUM', deleting + vacuuming),
      withinLimit('retire, memory of who does it', Math.max(0, grown), growthLimitMiB, 'MiB more'),
    ]
  },
}

async function time(act: () => Promise<void>): Promise<number> {
  const started = performance.now()
  await act()
  return performance.now() - started
}

/** Whatever is older than that day. */
async function retireAllBut({ db }: GatewayUnderTest, daysAgo: number): Promise<void> {
  const kept = daysAgo + 1
  const { days } = await retireOnce(db, { attemptDays: kept, eventDays: kept }, new Date())
  if (days < daysLeaving) throw new Error(`${days} days were dropped, not ${daysLeaving}.`)
}

async function deleteDay({ db }: GatewayUnderTest, day: number): Promise<void> {
  await db.script(`
    DELETE FROM outcomes WHERE day = ${day};
    DELETE FROM log WHERE day = ${day}`)
}

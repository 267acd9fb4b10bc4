/** What it takes to retire a day of a million deliveries, beside deleting the same rows; and the memory of who does it. */
import { idsADay } from '../src/webhooks/days.ts'
import { retireOnce } from '../src/webhooks/retention.ts'
import type { Benchmark } from './benchmark.ts'
import { type GatewayUnderTest, startEmptyGateway } from './gateway.ts'
import { fillHistory } from './history.ts'
import { readResidentMiB } from './overload.ts'
import { withinLimit } from './report.ts'

const aDay = 1_000_000
/** Younger than what the gateway retires by itself. */
const [droppedDaysAgo, deletedDaysAgo] = [25, 20]
const growthLimitMiB = 16

export const retire: Benchmark = {
  name: 'retire',
  async run(stage, { rows = aDay }) {
    const gateway = await startEmptyGateway(stage)
    const branchIds = [await gateway.makeBranch([]), await gateway.makeBranch([])]
    const day = { branchIds, days: 1, deliveriesADay: rows }
    await fillHistory(gateway, { ...day, endedDaysAgo: droppedDaysAgo })
    const [deleted] = await fillHistory(gateway, { ...day, endedDaysAgo: deletedDaysAgo })
    const before = readResidentMiB(process.pid)
    const ours = await time(() => retireOldest(gateway))
    const grown = readResidentMiB(process.pid) - before
    const theirs = await time(() => deleteDay(gateway, deleted!))
    return [
      {
        ...{ name: `retire, a day of ${rows.toLocaleString('en')}`, against: 'DELETE of the same rows' },
        ...{ ratio: ours / theirs, goal: 0.02, atMost: true, ours, theirs, unit: 'ms' },
      },
      withinLimit('retire, memory of who does it', Math.max(0, grown), growthLimitMiB, 'MiB more'),
    ]
  },
}

async function time(act: () => Promise<void>): Promise<number> {
  const started = performance.now()
  await act()
  return performance.now() - started
}

async function retireOldest({ db }: GatewayUnderTest): Promise<void> {
  const kept = deletedDaysAgo + 1
  const { days } = await retireOnce(db, { attemptDays: kept, eventDays: kept }, new Date())
  // Those of what was there before days were counted are as old.
  if (days < 4) throw new Error(`${days} tables of the day were dropped, not 4.`)
}

async function deleteDay({ db }: GatewayUnderTest, day: number): Promise<void> {
  await db.script(`
    DELETE FROM attempts WHERE day = ${day};
    DELETE FROM branch_log WHERE day = ${day};
    DELETE FROM settled_deliveries WHERE id >= ${day * idsADay} AND id < ${(day + 1) * idsADay};
    DELETE FROM events WHERE id >= ${day * idsADay} AND id < ${(day + 1) * idsADay}`)
}

/**
 * A house in which ten million deliveries of a month are kept, beside an empty one: how late the same load
 * is.
 */
import type { Benchmark } from './benchmark.ts'
import { openBranches } from './branches.ts'
import { fillHistory } from './history.ts'
import { startReceiver } from './receiver.ts'
import { here } from './source.ts'
import { compareTails } from './tails.ts'

const finished = 10_000_000
const days = 30
const perSecond = 500

export const years: Benchmark = {
  name: 'years',
  async run(stage, { rows = finished }) {
    const receiver = await startReceiver(stage)
    const [full, empty] = [
      await openBranches(stage, here, receiver),
      await openBranches(stage, here, receiver),
    ]
    await fillHistory(full.gateway, { branchIds: full.branchIds, days, deliveriesADay: rows / days })
    const against = 'an empty house'
    const name = `years, ${rows.toLocaleString('en')} finished deliveries`
    return [await compareTails({ name, against, goal: 1.15, perSecond, quantile: 0.95 }, full, empty)]
  },
}

/**
 * What a gateway asks of PostgreSQL when there is nothing to do, and what one event costs that comes while
 * nothing else does.
 */

import { setTimeout as wait } from 'node:timers/promises'
import { ask } from '../test/support/ask.ts'

import type { Benchmark } from './benchmark.ts'
import { type GatewayUnderTest, startEmptyGateway } from './gateway.ts'
import { send } from './load.ts'
import { startEachPostgres } from './postgres.ts'
import { makeEvent, publishRequest } from './publisher.ts'
import { startReceiver } from './receiver.ts'
import { type Result, withinLimit } from './report.ts'
import type { Stage } from './stage.ts'

const settlingMs = 5_000
const idleMs = 20_000
const idleLimit = 5
const loneLimit = 12
const lone = 20
/** Longer than a lane is kept for what may follow. */
const apartMs = 500

const selectCalls = `SELECT left(regexp_replace(query, '\\s+', ' ', 'g'), 100) AS text, calls::float8 AS calls
   FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%' ORDER BY calls DESC`

export const loneEvent: Benchmark = {
  name: 'lone',
  async run(stage) {
    const results: Result[] = []
    for (const { name, url } of await startEachPostgres(stage))
      results.push(...(await measure(stage, name, url)))
    return results
  },
}

async function measure(stage: Stage, name: string, databaseUrl: string): Promise<readonly Result[]> {
  const receiver = await startReceiver(stage)
  const gateway = await startEmptyGateway(stage, { databaseUrl })
  const branchId = await gateway.makeBranch([`${receiver.origin}/1`])
  const publisher = await gateway.makePublisher()
  const publishOne = async () => {
    await Promise.all([
      send(gateway.internal, publishRequest(publisher, [makeEvent(branchId)])),
      receiver.awaitMore(1),
    ])
    await wait(apartMs)
  }
  await publishOne()
  await wait(settlingMs)
  const idle = await count(gateway, 'idle', idleMs / 1000, () => wait(idleMs))
  const busy = await count(gateway, 'a lone event', lone, async () => {
    for (let n = 0; n < lone; n++) await publishOne()
  })
  const own = busy.perUnit - (idle.perUnit * busy.seconds) / lone
  return [
    withinLimit(`lone, idle${name}`, idle.perUnit, idleLimit, 'statements/s'),
    withinLimit(`lone, one event${name}`, own, loneLimit, 'statements'),
  ]
}

async function count({ db }: GatewayUnderTest, what: string, units: number, act: () => Promise<unknown>) {
  await db.script('SELECT pg_stat_statements_reset()')
  const started = performance.now()
  await act()
  const seconds = (performance.now() - started) / 1000
  const calls = await ask<{ text: string; calls: number }>(db, selectCalls)
  process.stderr.write(`  ${what}\n`)
  for (const { text, calls: times } of calls)
    process.stderr.write(`  ${(times / units).toFixed(2).padStart(8)}  ${text}\n`)
  return { perUnit: calls.reduce((sum, each) => sum + each.calls, 0) / units, seconds }
}

/**
 * `npm run soak [-- MINUTES]`: a mixed load for twenty minutes, and whether anything grows that should not:
 * the memory of the gateway, the time a claim takes, dead rows. A sample every ten seconds; the last third is
 * held against the first that came after the warm-up.
 */

import { createServer } from 'node:http'
import type { Database } from '../src/database/database.ts'
import { take } from '../src/webhooks/engine/kernel.sql.ts'
import { ask } from '../test/support/ask.ts'
import { holders } from './brokerage.ts'
import { startGateway } from './gateway.ts'
import { type Flood, flood, type PrintedRequest } from './load.ts'
import { readResidentMiB } from './overload.ts'
import { makeEvent, publishRequest } from './publisher.ts'
import { bearerGet, cycle, formPost } from './requests.ts'
import { median, quantile } from './rounds.ts'
import { openStage, type Stage } from './stage.ts'
import { timeUndone } from './undone.ts'

const minutes = Number(process.argv[2] ?? 20)
const sampleEveryMs = 10_000
const warmUpShare = 0.1
const branches = 10
/** What the webhooks of each branch do. */
const habits = ['ok', 'ok', 'ok', 'fail', 'hang']

interface Sample {
  readonly memoryMiB: number
  readonly claimMs: number
  readonly deadRows: number
  readonly waiting: number
}

async function main(): Promise<void> {
  const stage = openStage()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void stage.close().finally(() => process.exit(1)))
  }
  try {
    const gateway = await startGateway(stage)
    const loads = await prepareLoads(stage, gateway)
    const durationMs = minutes * 60_000
    const floods = Object.entries(loads).map(async ([name, { perSecond, requests }]) => {
      const origin = name === 'publish' ? gateway.internal : gateway.origin
      const load = { origin, prepareRound: cycle(requests), expected: '' }
      return [name, await flood({ ...load, connections: 50, perSecond, durationMs })] as const
    })
    const samples = await takeSamples(gateway.db, gateway.pid, durationMs)
    for (const [name, done] of await Promise.all(floods)) process.stdout.write(printFlood(name, done))
    process.stdout.write(printVerdict(samples))
  } finally {
    await stage.close()
  }
}

interface SteadyLoad {
  readonly perSecond: number
  readonly requests: readonly PrintedRequest[]
}

async function prepareLoads(
  stage: Stage,
  gateway: Awaited<ReturnType<typeof startGateway>>,
): Promise<Record<string, SteadyLoad>> {
  const receiver = await openReceiver(stage)
  const branchIds: number[] = []
  for (let n = 0; n < branches; n++) {
    branchIds.push(await gateway.makeBranch(habits.map((habit, hook) => `${receiver}/${habit}/${n}/${hook}`)))
  }
  const publisher = await gateway.makePublisher()
  const [access, refresh] = [
    await gateway.makeAccessTokens(holders),
    await gateway.makeRefreshTokens(holders),
  ]
  const { client } = gateway
  return {
    profile: { perSecond: 300, requests: access.map((token) => bearerGet('/v1/user/profile', token)) },
    introspection: {
      perSecond: 100,
      requests: access.map((token) => formPost('/v1/oauth/introspect', client, { token })),
    },
    refresh: {
      perSecond: 30,
      requests: refresh.map((token) =>
        formPost('/v1/oauth/refreshtoken', client, { grant_type: 'refresh_token', refresh_token: token }),
      ),
    },
    publish: {
      perSecond: 60,
      requests: Array.from({ length: 5_000 }, (_, n) =>
        publishRequest(publisher, [makeEvent(branchIds[n % branches]!)]),
      ),
    },
  }
}

/** Answers at once, answers 500, or never, as the path says. */
async function openReceiver(stage: Stage): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    if (request.url!.startsWith('/hang')) return
    response.writeHead(request.url!.startsWith('/fail') ? 500 : 200).end()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  stage.owns(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`
}

async function takeSamples(db: Database, pid: number, durationMs: number): Promise<Sample[]> {
  const samples: Sample[] = []
  for (let taken = 1; taken * sampleEveryMs < durationMs; taken++) {
    await new Promise((resolve) => setTimeout(resolve, sampleEveryMs))
    const sample = await takeSample(db, pid)
    samples.push(sample)
    process.stderr.write(`${(taken * sampleEveryMs) / 1000} s: ${printSample(sample)}\n`)
  }
  return samples
}

const countRows = `SELECT (SELECT coalesce(sum(n_dead_tup), 0)::int FROM pg_stat_user_tables) AS "deadRows",
     (SELECT count(*)::int FROM exceptions) AS waiting`

async function takeSample(db: Database, pid: number): Promise<Sample> {
  const times: number[] = []
  for (let n = 0; n < 9; n++) times.push(await timeClaim(db))
  const [rows] = await ask<{ deadRows: number; waiting: number }>(db, countRows)
  return { memoryMiB: readResidentMiB(pid), claimMs: median(times), ...rows! }
}

/** Undone at once: it takes nothing from the worker. */
function timeClaim(db: Database): Promise<number> {
  return timeUndone(db, async (sql) => {
    await sql.query(take, { part: 0, worker: 0, now: new Date(), most: 10, exceptIds: [] })
  })
}

function printSample({ memoryMiB, claimMs, deadRows, waiting }: Sample): string {
  return `${memoryMiB.toFixed(0)} MiB, claim ${claimMs.toFixed(2)} ms, ${deadRows} dead rows, ${waiting} entities failing`
}

function printFlood(name: string, { statuses, latenciesMs, unsent }: Flood): string {
  const counts = [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')
  return `${name}: ${counts}, ${unsent} unsent, p50 ${quantile(latenciesMs, 0.5).toFixed(1)} ms, p99 ${quantile(latenciesMs, 0.99).toFixed(1)} ms\n`
}

function printVerdict(samples: readonly Sample[]): string {
  const warm = samples.slice(Math.ceil(samples.length * warmUpShare))
  const third = Math.floor(warm.length / 3)
  const [early, late] = [warm.slice(0, third), warm.slice(-third)]
  const line = (name: string, of: (sample: Sample) => number) => {
    const [before, now] = [median(early.map(of)), median(late.map(of))]
    const most = Math.max(...warm.map(of))
    return `${name}: first third ${before.toFixed(2)}, last third ${now.toFixed(2)} (${(now / before).toFixed(2)}), most ${most.toFixed(2)}\n`
  }
  return [
    line('memory, MiB', (sample) => sample.memoryMiB),
    line('claim, ms', (sample) => sample.claimMs),
    line('dead rows', (sample) => sample.deadRows),
  ].join('')
}

await main()

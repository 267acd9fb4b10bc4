/**
 * Twice what it can carry, sent whatever the answers do. It has to answer every request soon, if only with a
 * refusal, keep its memory, and be as before when the load falls.
 */
import { readFileSync } from 'node:fs'
import type { Benchmark } from './benchmark.ts'
import { holders } from './brokerage.ts'
import { startGateway } from './gateway.ts'
import { type Flood, flood, type PrintedRequest, underLoad } from './load.ts'
import { makeEvent, publishRequest } from './publisher.ts'
import { type Result, withinLimit } from './report.ts'
import { bearerGet, cycle, formPost } from './requests.ts'
import { quantile } from './rounds.ts'

const connections = 4_000
const floodMs = 8_000
const calmMs = 2_000
const answerLimitMs = 1_500
const calmLimitMs = 50
const memoryLimitMiB = 512

export const overload: Benchmark = {
  name: 'overload',
  async run(stage) {
    const gateway = await startGateway(stage)
    const publisher = await gateway.makePublisher()
    const branchId = await gateway.makeBranch([])
    const tokens = await gateway.makeAccessTokens(holders)
    const kinds: Record<string, readonly PrintedRequest[]> = {
      profile: tokens.map((token) => bearerGet('/v1/user/profile', token)),
      introspection: tokens.map((token) => formPost('/v1/oauth/introspect', gateway.client, { token })),
      publish: Array.from({ length: holders }, () => publishRequest(publisher, [makeEvent(branchId)])),
    }
    const results: Result[] = []
    for (const [kind, requests] of Object.entries(kinds)) {
      const origin = kind === 'publish' ? gateway.internal : gateway.origin
      const load = { origin, prepareRound: cycle(requests), expected: 'HTTP/1.1 20' }
      await underLoad(load).measure()
      const perSecond = 2 * (await underLoad(load).measure())
      const flooded = await flood({ ...load, connections, perSecond, durationMs: floodMs })
      const memory = readResidentMiB(gateway.pid)
      await new Promise((resolve) => setTimeout(resolve, calmMs))
      const calm = await flood({ ...load, connections: 20, perSecond: 200, durationMs: calmMs })
      results.push(...judge(kind, flooded, calm, memory))
    }
    return results
  },
}

function judge(kind: string, flooded: Flood, calm: Flood, memoryMiB: number): Result[] {
  const wrong = [...flooded.statuses.keys()].filter((status) => ![200, 202, 429, 503].includes(status))
  if (wrong.length > 0) throw new Error(`Under ${kind} some answers were ${wrong.join(', ')}.`)
  if (calm.statuses.has(503)) throw new Error(`After ${kind} some requests were still refused.`)
  const counts = [...flooded.statuses].map(([status, count]) => `${count} × ${status}`).join(', ')
  process.stderr.write(
    `  ${kind} at ${Math.round(flooded.sentPerSecond)}/s: ${counts}; ${flooded.unsent} never sent\n`,
  )
  return [
    withinLimit(
      `overload, ${kind}: p99 of an answer`,
      quantile(flooded.latenciesMs, 0.99),
      answerLimitMs,
      'ms',
    ),
    withinLimit(`overload, ${kind}: memory`, memoryMiB, memoryLimitMiB, 'MiB'),
    withinLimit(
      `overload, ${kind}: p95 two seconds later`,
      quantile(calm.latenciesMs, 0.95),
      calmLimitMs,
      'ms',
    ),
  ]
}

export function readResidentMiB(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
}

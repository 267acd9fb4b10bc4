/** The workers that deliver. Each process with the role worker is one of them. */
import type { Database } from '../database/database.ts'
import { listWorkers, type SeenWorker } from '../webhooks/engine/worker-list.ts'
import { type Answer, ok, printDuration, warn } from './finding.ts'

export async function checkWorkers(db: Database): Promise<Answer> {
  const workers = await listWorkers(db)
  if (workers.length === 0) return { finding: ok('No worker runs.') }
  const newest = Math.max(...workers.map(({ seenAt }) => seenAt.getTime()))
  const found = `${workers.map((worker) => printWorker(worker, newest)).join('; ')}.`
  const isWell = workers.every(({ state }) => state === 'well')
  if (isWell) return { finding: ok(found) }
  const advice =
    'Others take over its webhooks. One that stays silent hangs, or cannot reach PostgreSQL: look at its log, or end the process.'
  return { finding: warn(found, advice) }
}

function printWorker({ number, address, lanes, state, seenAt }: SeenWorker, newestMs: number): string {
  const name = `worker ${number}${address === null ? '' : ` at ${address}`}`
  if (state === 'gone') return `${name} is gone`
  const holds = `${name} holds ${lanes} ${lanes === 1 ? 'webhook' : 'webhooks'}`
  return state === 'well'
    ? holds
    : `${holds} and has been silent for ${printDuration(newestMs - seenAt.getTime())}`
}

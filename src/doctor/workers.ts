/** Who delivers. Each process with the role worker is one of them. */
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { listWorkers, type SeenWorker } from '../webhooks/worker-list.ts'
import { type Answer, ok, printDuration, warn } from './finding.ts'

export async function checkWorkers(db: Database, clock: Clock): Promise<Answer> {
  const workers = await listWorkers(db, clock.now())
  if (workers.length === 0) return { finding: ok('No worker runs.') }
  const found = `${workers.map((worker) => printWorker(worker, clock.now())).join('; ')}.`
  const isWell = workers.every(({ state }) => state === 'well')
  if (isWell) return { finding: ok(found) }
  const advice =
    'Others take its lanes within seconds. Who is silent for longer hangs, or does not reach PostgreSQL: look at its log, or end the process.'
  return { finding: warn(found, advice) }
}

function printWorker({ number, address, lanes, state, seen_at }: SeenWorker, now: Date): string {
  const name = `worker ${number}${address === null ? '' : ` at ${address}`}`
  if (state === 'gone') return `${name} is gone`
  const holds = `${name} holds ${lanes} ${lanes === 1 ? 'lane' : 'lanes'}`
  return state === 'well'
    ? holds
    : `${holds} and has been silent for ${printDuration(now.getTime() - seen_at.getTime())}`
}

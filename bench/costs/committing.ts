/**
 * How long a commit waits for its log, and how many a second are made at once: plain ones, and those that
 * notify.
 */
import type { Database } from '../../src/database/database.ts'
import { median } from '../rounds.ts'

const lone = 300
const countedMs = 2_000
const connections = 10

export interface Commits {
  readonly commitMs: number
  readonly commitsPerSecond: number
  /** PostgreSQL lets one transaction with a notification commit at a time. */
  readonly notifiedCommitsPerSecond: number
}

const plain = "SELECT pg_logical_emit_message(true, 'bench', 'x')"
const notified = `${plain}, pg_notify('bench', 'x')`

export async function measureCommits(db: Database): Promise<Commits> {
  process.stderr.write('commits …\n')
  const commitMs = (await timeLone(db, plain)) - (await timeLone(db, 'SELECT 1'))
  return {
    commitMs: Math.max(0, commitMs),
    commitsPerSecond: await countTogether(db, plain),
    notifiedCommitsPerSecond: await countTogether(db, notified),
  }
}

async function timeLone(db: Database, script: string): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < lone; n++) {
    const started = performance.now()
    await db.script(script)
    times.push(performance.now() - started)
  }
  return median(times)
}

async function countTogether(db: Database, script: string): Promise<number> {
  const until = performance.now() + countedMs
  let made = 0
  const commitInTurn = async () => {
    for (; performance.now() < until; made++) await db.script(script)
  }
  await Promise.all(Array.from({ length: connections }, commitInTurn))
  return (made * 1_000) / countedMs
}

/** What must hold at every moment, asked of the unfinished and of the last week. */
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { findBroken, printBroken, wideScope } from '../webhooks/health/invariants.ts'
import { type Answer, fail, ok } from './finding.ts'

const namedAtMost = 5

export async function checkPromises(db: Database, clock: Clock): Promise<Answer> {
  const broken = await findBroken(db, clock.now(), wideScope(clock.now()))
  if (broken.length === 0) return { finding: ok('Every promise of the delivery engine is kept.') }
  const named = broken.slice(0, namedAtMost).map((each) => `${printBroken(each)}.`)
  const others = broken.length > namedAtMost ? [`${broken.length - namedAtMost} more.`] : []
  const advice =
    'Workers come and go: look again in a minute. What stays is a mistake of ours; see docs/operating.md, "A broken promise".'
  return { finding: fail([...named, ...others].join(' '), advice) }
}

/** What waits: events for their number, deliveries for their attempt, webhooks for a partner to fix them. */
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Condition } from '../webhooks/health/condition.ts'
import { allThatWait, readDepths, readOldest } from '../webhooks/health/depths.ts'
import { type Answer, grade, ok, printDuration, warn } from './finding.ts'
import { limits } from './limits.ts'

const noWorker =
  'Is a node with the role worker running, and is PostgreSQL busy? docs/operating.md, "Troubleshooting".'

export async function checkNumbering(db: Database, clock: Clock): Promise<Answer> {
  const { inbox } = await readDepths(db, clock.now())
  const { publishedAt } = await readOldest(db, clock.now())
  if (inbox === 0 || !publishedAt) return { finding: ok('No event waits for its number.') }
  return { finding: judgeAge(`${inbox} events wait for their number`, publishedAt, clock, limits.numbering) }
}

/**
 * Webhooks that keep failing, those that are paused, and those of partners that are not approved keep theirs
 * waiting on purpose.
 */
export async function checkDeliveries(db: Database, clock: Clock): Promise<Answer> {
  const waiting = allThatWait(await readDepths(db, clock.now()))
  const { dueAt } = await readOldest(db, clock.now())
  if (!dueAt || dueAt > clock.now())
    return { finding: ok(`${waiting} deliveries wait, none of them is late.`) }
  return { finding: judgeAge(`${waiting} deliveries wait`, dueAt, clock, limits.delivery) }
}

function judgeAge(
  what: string,
  since: Date,
  clock: Clock,
  limit: { readonly warnMs: number; readonly failMs: number },
) {
  const ageMs = clock.now().getTime() - since.getTime()
  const found = `${what}, the oldest for ${printDuration(ageMs)}.`
  return grade(ageMs, { warn: limit.warnMs, fail: limit.failMs }, found, noWorker)
}

export async function checkWebhooks(db: Database, clock: Clock): Promise<Answer> {
  const { webhooks, lanesFull, exhausted } = await readDepths(db, clock.now())
  const count = (condition: Condition) => webhooks.get(condition) ?? 0
  const [open, disabled, untried] = [count('breaker open'), count('disabled'), count('not tried')]
  const failing = `${count('failing') + open} webhooks fail, ${open} of them with one retry a minute`
  const found = `${failing}; ${disabled} are disabled, ${untried} have queued deliveries and were not tried since they were resumed or changed; ${exhausted} deliveries failed after all retries.`
  const advice =
    'Tell those partners: "countersign webhook list --partner NAME" shows them and why, "countersign delivery list" every attempt.'
  if (lanesFull > 0)
    return { finding: warn(`${found} ${lanesFull} begin nothing new: as many entities fail as may.`, advice) }
  if (open === 0 && disabled === 0) return { finding: ok(found) }
  return { finding: warn(found, advice) }
}

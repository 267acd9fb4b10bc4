/** Holds what was acknowledged against what is stored and what was received. */

import { setTimeout as wait } from 'node:timers/promises'
import { verifyChain } from '../../../src/audit/chain.ts'
import { printEventId } from '../../../src/webhooks/events/event.ts'
import { ask } from '../../support/ask.ts'
import { findBrokenPromises, findOvertaken } from '../../support/delivery-promises.ts'
import { eventually } from '../../support/eventually.ts'
import { readProfile } from '../../support/process.ts'
import { testTimeoutMs } from '../../support/timeout.ts'
import type { House, Node } from './house.ts'
import type { Promises } from './traffic.ts'

export interface Findings {
  readonly acknowledged: { readonly events: number; readonly tokens: number; readonly revocations: number }
  readonly refusals: number
  readonly received: number
  readonly duplicates: number
  /** Every broken promise in words; none is the only good number. */
  readonly lost: readonly string[]
}

/** What is still under way when the traffic stops has so long to arrive. */
export async function checkPromises(
  house: House,
  promises: Promises,
  withinMs = testTimeoutMs,
): Promise<Findings> {
  await untilAllArrived(house, promises, withinMs)
  const { events, tokens, revoked, refusals } = promises
  const { received } = house.receiver
  const missing = findMissing(house, promises)
  const distinct = new Set(received.map(({ path, id }) => `${path} ${id}`))
  return {
    acknowledged: { events: events.size, tokens: tokens.size, revocations: revoked.size },
    refusals,
    received: received.length,
    duplicates: received.length - distinct.size,
    lost: [
      ...promises.wrongAnswers,
      ...(await findUnstored(house, promises)),
      ...missing,
      ...(missing.length > 0 ? await describeLanes(house) : []),
      ...findInversions(house, promises),
      ...(await findWrongTokens(house, promises)),
      ...(await findBrokenPromises(house.db)),
      ...(await findBrokenChain(house)),
    ],
  }
}

async function untilAllArrived(house: House, promises: Promises, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs
  while (performance.now() < deadline && findMissing(house, promises).length > 0) await wait(50)
}

function findMissing({ hooks, receiver }: House, { events }: Promises): string[] {
  return hooks.flatMap((path) => {
    const seen = new Set(receiver.at(path).map(({ id }) => id))
    return [...events.keys()].filter((id) => !seen.has(id)).map((id) => `${id} never reached ${path}`)
  })
}

const selectWaiting = `SELECT to_jsonb(c) AS cursor, feed_head(part, feed) AS head, (SELECT jsonb_agg(x) FROM exceptions x
    WHERE x.part = c.part AND x.webhook_id = c.webhook_id) AS exceptions,
     (SELECT count(*) FROM agains g WHERE g.part = c.part AND g.webhook_id = c.webhook_id) AS agains
   FROM cursors c WHERE position < feed_head(part, feed) OR EXISTS (SELECT FROM exceptions x
     WHERE x.part = c.part AND x.webhook_id = c.webhook_id)`
const selectOutbox = 'SELECT count(*) AS unnumbered FROM outbox'

/** What did not arrive waits somewhere, or is nowhere: whoever reads of it wants to know which. */
async function describeLanes({ db }: House): Promise<string[]> {
  const lanes = (await ask(db, selectWaiting)).map((lane) => `waiting: ${JSON.stringify(lane)}`)
  const [outbox] = await ask<{ unnumbered: number }>(db, selectOutbox)
  return [
    ...(lanes.length > 0 ? lanes : ['nothing waits in any lane']),
    `${outbox!.unnumbered} have no number`,
  ]
}

const selectUids = 'SELECT uid FROM log'

async function findUnstored({ db }: House, { events }: Promises): Promise<string[]> {
  const rows = await ask<{ uid: string }>(db, selectUids)
  const stored = new Set(rows.map(({ uid }) => printEventId(uid)))
  return [...events.keys()].filter((id) => !stored.has(id)).map((id) => `${id} is not stored`)
}

/** What is missing is named by another. */
function findInversions({ hooks, receiver }: House, { events }: Promises): string[] {
  return hooks.flatMap((path) => {
    const arrived = receiver.at(path).map(({ id }) => id)
    return findOvertaken(arrived, (id) => events.get(id)).map((id) => `${id} was overtaken at ${path}`)
  })
}

async function findWrongTokens({ nodes }: House, { tokens, revoked }: Promises): Promise<string[]> {
  const wrong: string[] = []
  for (const [wanted, set] of [
    [200, tokens],
    [401, revoked],
  ] as const) {
    for (const [place, token] of [...set].entries()) {
      const status = await eventually('an answer that is one', () =>
        askWith(token, nodes[place % nodes.length]!),
      )
      if (status !== wanted) wrong.push(`a token is answered ${status} instead of ${wanted}`)
    }
  }
  return wrong
}

/** Whoever is told to come back was promised nothing. */
async function askWith(token: string, { origin }: Node): Promise<number | false> {
  const { status } = await readProfile(origin, token)
  return status !== 503 && status
}

async function findBrokenChain({ db }: House): Promise<string[]> {
  const found = await verifyChain(db, new Date())
  return found.kind === 'intact' ? [] : [`the audit chain is broken: ${found.problem}`]
}

/**
 * How long the portal takes over a million deliveries, its questions and its whole pages, and the console
 * after it: what is sought changes, the time must not.
 */

import { randomUUID } from 'node:crypto'
import { after, hour } from '../src/clock.ts'
import type { Database } from '../src/database/database.ts'
import { addMember, applyAsPartner, getPartner, setPartnerStatus } from '../src/partners/partner.ts'
import { openPasswords } from '../src/users/password.ts'
import { createUser } from '../src/users/user.ts'
import type { DeliveryFilter } from '../src/webhooks/deliveries/delivery.ts'
import { searchDeliveries } from '../src/webhooks/deliveries/delivery-search.ts'
import { makeEventUids } from '../src/webhooks/events/event.ts'
import { everyWebhook, readCounts } from '../src/webhooks/health/webhook-counts.ts'
import { listWebhooks, type Webhook } from '../src/webhooks/subscriptions/webhook.ts'
import { ask } from '../test/support/ask.ts'
import type { Browser } from '../test/support/browser.ts'
import { followByHand } from '../test/support/follow.ts'
import { signIn } from '../test/support/process.ts'
import type { Benchmark } from './benchmark.ts'
import { measureConsole } from './console.ts'
import { startEmptyGateway } from './gateway.ts'
import { printDelivered, printEntries } from './log-by-hand.ts'
import { measurePages, measureQuestion } from './pages.ts'
import type { Result } from './report.ts'

const webhooks = 20
const deliveries = 1_000_000
const act = () => ({ by: { name: 'operator:bench' }, at: new Date() })

export const portal: Benchmark = {
  name: 'portal',
  async run(stage, { rows }) {
    const { db, origin } = await startEmptyGateway(stage)
    const branchId = await fill(db)
    const all = await listWebhooks(db, { branchId, environment: 'live' }, 0, webhooks)
    const ids = all.map(({ id }) => id)
    const [last] = await ask<{ at: Date }>(db, selectLast)
    const from = after(last!.at, -hour)
    const questions: Record<string, { of?: readonly Webhook[]; filter?: DeliveryFilter; before?: string }> = {
      newest: {},
      'one webhook': { of: all.slice(0, 1) },
      'from the middle': { before: String(deliveries / webhooks / 2) },
      waiting: { filter: { state: 'waiting' } },
      exhausted: { filter: { state: 'exhausted' } },
      'a kind that there is none of': { filter: { kind: 'APPLICATION' } },
      'an entity that there is none of': { filter: { entity: 'transaction:0' } },
      'an hour': { filter: { from, to: last!.at } },
      'an hour that nothing happened in': { filter: { from: after(last!.at, hour) } },
    }
    const results: Result[] = []
    for (const [name, { of = all, filter = {}, before }] of Object.entries(questions)) {
      results.push(
        await measureQuestion(`portal, ${name}`, () => searchDeliveries(db, of, filter, before, 50)),
      )
    }
    for (const [name, id] of [
      ['a webhook', ids[0]!],
      ['all webhooks', everyWebhook],
    ] as const) {
      const readAll = () => readCounts(db, id, '30days', last!.at)
      results.push(await measureQuestion(`portal, charts of ${name}, 30 days`, readAll))
    }
    const home = `/partner/${branchId}`
    const member = await signInMember(db, origin, branchId)
    const pages = await measurePages('portal', member, {
      home,
      webhooks: `${home}/webhooks`,
      'an incident': `${home}/webhooks/${ids[0]}/incident`,
      'newest deliveries': `${home}/deliveries`,
      'failed after all retries': `${home}/deliveries?state=exhausted`,
      'search by address': `${home}/search?q=app.example.com`,
      'search by an event that never was': `${home}/search?q=${makeEventUids([{}], last!.at)[0]}`,
      'search by an event whose name tells no moment': `${home}/search?q=${randomUUID()}`,
      'a webhook with its charts of a day': `${home}/webhooks/${ids[0]}?period=day`,
      'a webhook with its charts of 30 days': `${home}/webhooks/${ids[0]}?period=30days`,
    })
    return [
      ...results,
      ...pages,
      ...(await measureConsole({ db, origin, branchId, webhookId: ids[0]! }, rows)),
    ]
  },
}

async function signInMember(db: Database, origin: string, branchId: number): Promise<Browser> {
  const person = {
    username: 'member',
    name: 'Mem Ber',
    password: 'correct horse battery',
    role: 'holder',
  } as const
  const user = await createUser(db, openPasswords(1), person, act())
  await addMember(db, await getPartner(db, String(branchId)), user, act())
  return signIn(origin, person)
}

const selectLast = 'SELECT max(created_at) AS at FROM log'

/** One in a thousand waits, one in five hundred was given up. */
async function fill(db: Database): Promise<number> {
  const partner = await applyAsPartner(db, 'Bench Partner', act())
  await setPartnerStatus(db, partner, 'approved', undefined, act())
  const { branchId } = partner
  const events = deliveries / webhooks
  await db.script(`
    INSERT INTO webhooks (branch_id, environment, url, kinds, created_at, updated_at)
    SELECT ${branchId}, 'live', 'https://app.example.com/' || n, ARRAY['TRANSACTION'], now(), now()
      FROM generate_series(1, ${webhooks}) AS n;
    ${followByHand}
    ${printEntries(branchId, events, 1_000)}
    ${printDelivered(branchId, `branch_id = ${branchId}`, 'l.seq % 500 = 0')}
    ${printDelivered(branchId, `branch_id = ${branchId}`, 'l.seq % 500 > 0 OR l.seq % 1000 = 0', "'exhausted'")}
    INSERT INTO exceptions (part, webhook_id, entity, seq, day, attempts, due_at, written_at)
    SELECT l.part, w.id, l.entity, l.seq, l.day, 1, now() + interval '1 day', now() FROM log l, webhooks w
      WHERE l.seq % 1000 = 0;
    UPDATE cursors SET failures = 40, failing_since = now() - interval '2 h', tried_in = term,
      hold_until = now() + interval '1 day'`)
  await fillCounts(db)
  await db.script('VACUUM ANALYZE')
  return branchId
}

/**
 * Of every webhook that was busy all month: five minutes of the last day, hours before it, in all cells that
 * a receiver can fall into.
 */
async function fillCounts(db: Database): Promise<void> {
  await db.script(`
    INSERT INTO webhook_counts (webhook_id, starts_at, minutes, accepted, refused, waiting, blocked, answered,
      delivered)
    SELECT w.id, span.at, span.minutes, 500, 5, 20, 10, cells.all, cells.all
    FROM (SELECT ${everyWebhook} AS id UNION ALL SELECT id FROM webhooks) w, (
      SELECT at, 5 AS minutes
        FROM generate_series(date_trunc('hour', now()) - interval '26 h', now(), interval '5 min') AS at
      UNION ALL SELECT at, 60
        FROM generate_series(date_trunc('hour', now()) - interval '31 days', now() - interval '27 h',
        interval '1 h') AS at) span,
      (SELECT array_agg(n) AS all FROM generate_series(1, 45) AS n) cells`)
}

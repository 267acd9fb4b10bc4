/** How long the portal takes over a million deliveries, its questions and its whole pages, and the console after it: what is sought changes, the time must not. */
import { randomUUID } from 'node:crypto'
import { after, hour } from '../src/clock.ts'
import { type Database, statement } from '../src/database/database.ts'
import { addMember, applyAsPartner, getPartner, setPartnerStatus } from '../src/partners/partner.ts'
import { openPasswords } from '../src/users/password.ts'
import { createUser } from '../src/users/user.ts'
import type { DeliveryFilter } from '../src/webhooks/delivery.ts'
import { searchDeliveries } from '../src/webhooks/delivery-search.ts'
import { makeEventUids } from '../src/webhooks/event.ts'
import { partOf } from '../src/webhooks/part.ts'
import { everyWebhook, readCounts } from '../src/webhooks/webhook-counts.ts'
import type { Browser } from '../test/support/browser.ts'
import { signIn } from '../test/support/process.ts'
import type { Benchmark } from './benchmark.ts'
import { measureConsole } from './console.ts'
import { startEmptyGateway } from './gateway.ts'
import { measurePages, measureQuestion } from './pages.ts'
import type { Result } from './report.ts'

const webhooks = 20
const deliveries = 1_000_000
const newest = Number.MAX_SAFE_INTEGER
const act = () => ({ by: { name: 'operator:bench' }, at: new Date() })

export const portal: Benchmark = {
  name: 'portal',
  async run(stage, { rows }) {
    const { db, origin } = await startEmptyGateway(stage)
    const branchId = await fill(db)
    const ids = (await db.query<{ id: number }>(selectWebhooks)).map((row) => row.id)
    const [last] = await db.query<{ at: Date }>(selectLast)
    const [middle] = await db.query<{ id: number }>(selectMiddle)
    const from = after(last!.at, -hour)
    const questions: Record<string, { of?: readonly number[]; filter?: DeliveryFilter; before?: number }> = {
      newest: {},
      'one webhook': { of: ids.slice(0, 1) },
      'from the middle': { before: middle!.id },
      waiting: { filter: { state: 'waiting' } },
      exhausted: { filter: { state: 'exhausted' } },
      'a kind that there is none of': { filter: { kind: 'APPLICATION' } },
      'an entity that there is none of': { filter: { entity: 'transaction:0' } },
      'an hour': { filter: { from, to: last!.at } },
      'an hour that nothing happened in': { filter: { from: after(last!.at, hour) } },
    }
    const results: Result[] = []
    for (const [name, { of = ids, filter = {}, before = newest }] of Object.entries(questions)) {
      results.push(await measureQuestion(`portal, ${name}`, () => searchDeliveries(db, of, filter, before, 50)))
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
    return [...results, ...pages, ...(await measureConsole({ db, origin, branchId, webhookId: ids[0]! }, rows))]
  },
}

async function signInMember(db: Database, origin: string, branchId: number): Promise<Browser> {
  const person = { username: 'member', name: 'Mem Ber', password: 'correct horse battery', role: 'holder' } as const
  const user = await createUser(db, openPasswords(1), person, act())
  await addMember(db, await getPartner(db, String(branchId)), user, act())
  return signIn(origin, person)
}

const selectWebhooks = statement('bench_select_webhooks', 'SELECT id FROM webhooks ORDER BY id')
const selectLast = statement('bench_select_last', 'SELECT max(created_at) AS at FROM deliveries')
const selectMiddle = statement(
  'bench_select_middle',
  `SELECT id FROM settled_deliveries ORDER BY id OFFSET ${deliveries / 2} LIMIT 1`,
)

/** One in a thousand waits, one in five hundred was given up. */
async function fill(db: Database): Promise<number> {
  const partner = await applyAsPartner(db, 'Bench Partner', act())
  await setPartnerStatus(db, partner, 'approved', undefined, act())
  const { branchId } = partner
  const events = deliveries / webhooks
  await db.script(`
    INSERT INTO webhooks (branch_id, environment, url, kinds, created_at, updated_at)
    SELECT ${branchId}, 'live', 'https://app.example.com/' || n, ARRAY['TRANSACTION'], now(), now() FROM generate_series(1, ${webhooks}) AS n;
    INSERT INTO lanes (webhook_id, part, failures, failing_since, evidence)
    SELECT id, ${partOf(branchId)}, 40, now() - interval '2 h', 9 FROM webhooks;
    SELECT open_day(day_of(at)) FROM generate_series(now() - interval '1 s' * ${events}, now() + interval '1 day', interval '1 h') AS at;
    INSERT INTO events (id, environment, branch_id, kind, action, entity, body, created_at)
    SELECT (SELECT event_offset FROM days WHERE day = day_of(at)) + nextval('event_numbers'),
      'live', ${branchId}, 'TRANSACTION', 'SUBMITTED', 'transaction:' || n, repeat('x', 250), at
    FROM generate_series(1, ${events}) AS n, LATERAL (SELECT now() - interval '1 s' * (${events} - n) AS at) moment;
    CREATE TEMPORARY TABLE made AS
    SELECT (SELECT delivery_offset FROM days WHERE day = wanted.event_id / 10000000000) + nextval('delivery_numbers') AS id, wanted.* FROM (
      SELECT w.id AS webhook_id, e.id AS event_id, e.entity, e.created_at,
        CASE WHEN e.id % 1000 = 0 THEN 'waiting' WHEN e.id % 500 = 0 THEN 'exhausted' ELSE 'delivered' END AS state
      FROM events e CROSS JOIN webhooks w ORDER BY e.id, w.id) wanted;
    INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, due_at, created_at)
    SELECT id, webhook_id, event_id, entity, 0, created_at, created_at FROM made WHERE state = 'waiting';
    INSERT INTO settled_deliveries (id, webhook_id, event_id, entity, state, attempts, created_at, settled_at)
    SELECT id, webhook_id, event_id, entity, state, 1, created_at, created_at FROM made WHERE state <> 'waiting';
    INSERT INTO attempts (day, delivery_id, number, at, duration_ms, outcome, status)
    SELECT id / 10000000000, id, 1, created_at, id % 400, 'accepted', 200 FROM made WHERE state = 'delivered' ORDER BY id;
    DROP TABLE made`)
  await fillCounts(db)
  await db.script('VACUUM ANALYZE')
  return branchId
}

/** Of every webhook that was busy all month: five minutes of the last day, hours before it, in all cells that a receiver can fall into. */
async function fillCounts(db: Database): Promise<void> {
  await db.script(`
    INSERT INTO webhook_counts (webhook_id, starts_at, minutes, accepted, refused, waiting, blocked, answered, delivered)
    SELECT w.id, span.at, span.minutes, 500, 5, 20, 10, cells.all, cells.all
    FROM (SELECT ${everyWebhook} AS id UNION ALL SELECT id FROM webhooks) w, (
      SELECT at, 5 AS minutes FROM generate_series(date_trunc('hour', now()) - interval '26 h', now(), interval '5 min') AS at
      UNION ALL SELECT at, 60 FROM generate_series(date_trunc('hour', now()) - interval '31 days', now() - interval '27 h', interval '1 h') AS at) span,
      (SELECT array_agg(n) AS all FROM generate_series(1, 45) AS n) cells`)
}

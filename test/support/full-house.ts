/** A database as weeks of traffic leave it: days of finished deliveries, a queue of which one webhook has a large part, and an inbox that nobody has read. */
import { day } from '../../src/clock.ts'
import { type Database, statement } from '../../src/database/database.ts'
import { applyAsPartner, getPartner, setPartnerStatus } from '../../src/partners/partner.ts'
import { openDay } from '../../src/webhooks/days.sql.ts'
import { defaultKinds } from '../../src/webhooks/kind.ts'
import type { Webhook } from '../../src/webhooks/webhook.ts'
import { usualSettings, valuesOf } from '../../src/webhooks/webhook-settings.ts'
import { insertWebhook } from '../../src/webhooks/webhooks.sql.ts'
import { TestClock } from './clock.ts'
import { openTestDatabase } from './database.ts'
import { operatorAct } from './gateway.ts'
import { openPatiently } from './patiently.ts'

const branches = 20
const webhooksABranch = 3
const days = 10

export interface FullHouse {
  readonly db: Database
  readonly clock: TestClock
  /** The first has half of what waits. */
  readonly webhooks: readonly Webhook[]
  sql<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>
  fill(rows: number): Promise<void>
  /** What waits leaves, somebody counts, and it comes back. */
  countWhileQuiet(): Promise<void>
  makeWebhook(branchId: number): Promise<Webhook>
  close(): Promise<void>
}

/** Empty, and counted while it was. From now on nobody counts but whoever is told to. */
export async function openFullHouse(): Promise<FullHouse> {
  const database = await openTestDatabase()
  const db = openPatiently({ connectionString: database.url, connections: 5 })
  const clock = new TestClock()
  const sql = <Row extends object>(text: string, values: readonly unknown[] = []) =>
    db.query<Row>(statement('', text), values)
  const makeWebhook = async (branchId: number) => {
    const chosen = [defaultKinds, clock.now(), ...valuesOf(usualSettings)]
    const values = [branchId, 'live', null, 'https://receiver.example/hook', ...chosen]
    return (await db.query<Webhook>(insertWebhook, values))[0]!
  }
  const webhooks: Webhook[] = []
  for (let n = 0; n < branches; n++) {
    const { branchId } = await applyAsPartner(db, `Partner ${n}`, operatorAct(clock.now()))
    await setPartnerStatus(db, await getPartner(db, String(branchId)), 'approved', undefined, operatorAct(clock.now()))
    for (let m = 0; m < webhooksABranch; m++) webhooks.push(await makeWebhook(branchId))
  }
  await makeOthers(sql, clock.now())
  const today = clock.now()
  for (let ago = days; ago >= 0; ago--) await db.query(openDay, [dayBefore(today, ago)])
  await leaveAlone(sql)
  await sql('ANALYZE')
  return {
    ...{ db, clock, webhooks, sql, makeWebhook },
    async fill(rows) {
      for (let ago = days; ago > 0; ago--) await fillDay(sql, new Date(today.getTime() - ago * day), rows / days)
      await fillQueue(sql, webhooks, today, rows)
    },
    countWhileQuiet: () => countWhileQuiet(sql),
    async close() {
      await db.close()
      await database.close()
    },
  }
}

function dayBefore(today: Date, ago: number): number {
  return Number(new Date(today.getTime() - ago * day).toISOString().slice(2, 10).replaceAll('-', ''))
}

/** Whom nobody sends anything. */
async function makeOthers(sql: FullHouse['sql'], now: Date): Promise<void> {
  await sql(
    `WITH made AS (
       INSERT INTO partners (name, status, created_at, updated_at)
       SELECT 'Other ' || n, 'approved', $1::timestamptz, $1 FROM generate_series(1, 1000) n RETURNING branch_id),
     hooks AS (
       INSERT INTO webhooks (branch_id, environment, url, kinds, created_at, updated_at)
       SELECT branch_id, 'live', 'https://other.example/hook', $2::text[], $1, $1 FROM made, generate_series(1, 2) RETURNING id, branch_id)
     INSERT INTO lanes (webhook_id, part) SELECT id, branch_id % 16 FROM hooks`,
    [now, defaultKinds],
  )
}

async function leaveAlone(sql: FullHouse['sql']): Promise<void> {
  const tables = await sql<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  )
  for (const { name } of tables) await sql(`ALTER TABLE ${name} SET (autovacuum_enabled = false)`)
}

/** Each with its event, its place in the log and one attempt. */
async function fillDay(sql: FullHouse['sql'], at: Date, rows: number): Promise<void> {
  await sql(
    `WITH made AS MATERIALIZED (
       SELECT d.day, d.event_offset + nextval('event_numbers') AS event_id, d.delivery_offset + nextval('delivery_numbers') AS id,
         w.id AS webhook_id, w.branch_id, 'transaction:' || n % 5000 AS entity, n
       FROM days d CROSS JOIN generate_series(1, $2::int) n
       JOIN (SELECT id, branch_id, row_number() OVER (ORDER BY id) AS place FROM webhooks) w ON w.place = 1 + n % ${branches * webhooksABranch}
       WHERE d.day = day_of($1)),
     stored AS (
       INSERT INTO events (id, environment, branch_id, kind, action, entity, body, created_at)
       SELECT event_id, 'live', branch_id, 'TRANSACTION', 'SUBMITTED', entity, '{}', $1::timestamptz FROM made),
     filed AS (
       INSERT INTO settled_deliveries (id, webhook_id, event_id, entity, state, attempts, created_at, settled_at)
       SELECT id, webhook_id, event_id, entity, CASE WHEN n / ${branches * webhooksABranch} % 20 = 0 THEN 'exhausted' ELSE 'delivered' END, 1, $1, $1 FROM made),
     tried AS (
       INSERT INTO attempts (day, delivery_id, number, at, duration_ms, outcome, status)
       SELECT day, id, 1, $1, 5, 'accepted', 200 FROM made),
     logged AS (
       INSERT INTO branch_log (branch_id, environment, sequence, event_id, day, deliveries)
       SELECT branch_id, 'live', event_id, event_id, day, 1 FROM made)
     INSERT INTO branch_days (branch_id, environment, day, first, last)
     SELECT branch_id, 'live', day, min(event_id), max(event_id) FROM made GROUP BY branch_id, day`,
    [at, rows],
  )
}

/** Half of it one webhook's; a fifth is blocked, a fifth is sent again. As much lies in the inbox. */
async function fillQueue(sql: FullHouse['sql'], webhooks: readonly Webhook[], now: Date, rows: number): Promise<void> {
  await sql(
    `WITH made AS MATERIALIZED (
       SELECT d.event_offset + nextval('event_numbers') AS event_id, d.delivery_offset + nextval('delivery_numbers') AS id,
         w.id AS webhook_id, w.branch_id, CASE n % 5 WHEN 4 THEN 1 ELSE 0 END AS urgency, n
       FROM days d CROSS JOIN generate_series(1, $3::int) n
       JOIN (SELECT id, branch_id, row_number() OVER (ORDER BY id) AS place FROM webhooks) w
         ON w.place = 1 + CASE WHEN n % 2 = 0 THEN 0 ELSE n / 2 % $2::int END
       WHERE d.day = day_of($1)),
     stored AS (
       INSERT INTO events (id, environment, branch_id, kind, action, entity, body, created_at)
       SELECT event_id, 'live', branch_id, 'TRANSACTION', 'SUBMITTED', 'transaction:' || n, '{}', $1::timestamptz FROM made),
     told AS (
       INSERT INTO inbox (part, event_id, branch_id, environment, kind, entity, simulated)
       SELECT branch_id % 16, event_id, branch_id, 'live', 'TRANSACTION', 'transaction:' || n, false FROM made ORDER BY n)
     INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, after_id, due_at, created_at)
     SELECT id, webhook_id, event_id, 'transaction:' || n / 10, urgency, after_id,
       CASE WHEN after_id IS NULL THEN $1::timestamptz - n % 1000 * interval '1 second' ELSE 'infinity' END, $1
     FROM (SELECT *, CASE n % 5 WHEN 0 THEN lag(id) OVER (PARTITION BY webhook_id ORDER BY id) END AS after_id FROM made) chained`,
    [now, webhooks.length, rows],
  )
  const ids = webhooks.map((webhook) => webhook.id)
  await sql('UPDATE lanes SET attention_at = $1 WHERE webhook_id = ANY ($2::bigint[])', [now, ids])
}

const hot = ['queued_deliveries', 'inbox'] as const

async function countWhileQuiet(sql: FullHouse['sql']): Promise<void> {
  for (const table of hot) await sql(`CREATE TABLE away_${table} AS SELECT * FROM ${table}`)
  for (const table of hot) await sql(`DELETE FROM ${table}`)
  for (const table of hot) await sql(`VACUUM (TRUNCATE false) ${table}`)
  await sql('ANALYZE')
  for (const table of hot) {
    const columns = table === 'inbox' ? inboxColumns : '*'
    const into = table === 'inbox' ? `(${inboxColumns})` : ''
    await sql(`INSERT INTO ${table} ${into} SELECT ${columns} FROM away_${table}`)
    await sql(`DROP TABLE away_${table}`)
  }
}

/** Its transaction is that which writes it. */
const inboxColumns = 'part, event_id, branch_id, environment, kind, entity, simulated, webhook_id, repeats, replay_id'

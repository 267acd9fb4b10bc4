/** How long a worker takes to claim lanes and read what is due in them, as the tables grow. */
import { randomUUID } from 'node:crypto'
import { type Database, openDatabase } from '../src/database/database.ts'
import { migrate } from '../src/database/migrations.ts'
import { applyAsPartner, setPartnerStatus } from '../src/partners/partner.ts'
import { claimLanes, selectDue } from '../src/webhooks/lanes.sql.ts'
import { partOf } from '../src/webhooks/part.ts'
import type { Benchmark } from './benchmark.ts'
import { startPostgres } from './postgres.ts'
import type { Result } from './report.ts'
import { median } from './rounds.ts'
import type { Stage } from './stage.ts'
import { timeUndone } from './undone.ts'

const lanesAtOnce = 10
const readAhead = 50
const repetitions = 300
const goal = 1.5

export const claim: Benchmark = {
  name: 'claim',
  async run(stage) {
    const small = await fill(stage, 10, 100)
    const deep = await fill(stage, 10, 100_000)
    const wide = await fill(stage, 10_000, 100)
    const [smallMs, deepMs, wideMs] = await measureEach([small, deep, wide])
    const against = (name: string, theirs: string, ours: number, beside: number): Result => ({
      ...{ name, against: theirs, ratio: ours / beside, goal, atMost: true, ours, theirs: beside, unit: 'ms' },
    })
    return [
      against('claim, 1,000,000 waiting', '1,000 waiting', deepMs!, smallMs!),
      against('claim, 10,000 webhooks', '10 webhooks', wideMs!, smallMs!),
    ]
  },
}

/** So many webhooks, so many deliveries waiting in each. */
async function fill(stage: Stage, webhooks: number, waiting: number): Promise<Database> {
  const db = openDatabase({ connectionString: await startPostgres(stage) })
  stage.owns(() => db.close())
  await migrate(db)
  const act = () => ({ by: { name: 'operator:bench' }, at: new Date() })
  const partner = await applyAsPartner(db, 'Bench Partner', act())
  await setPartnerStatus(db, partner, 'approved', undefined, act())
  const { branchId } = partner
  await db.script(`
    INSERT INTO webhooks (branch_id, environment, url, kinds, created_at, updated_at)
    SELECT ${branchId}, 'live', 'https://app.example.com/' || n, ARRAY['TRANSACTION'], now(), now()
    FROM generate_series(1, ${webhooks}) AS n;
    INSERT INTO lanes (webhook_id, part, attention_at) SELECT id, ${partOf(branchId)}, now() FROM webhooks
    ON CONFLICT (webhook_id) DO UPDATE SET attention_at = excluded.attention_at;
    SELECT open_day(day_of(now()));
    INSERT INTO events (id, environment, branch_id, kind, action, entity, body, created_at)
    SELECT event_offset + nextval('event_numbers'), 'live', ${branchId}, 'TRANSACTION', 'SUBMITTED', 'transaction:' || n, repeat('x', 250), now()
    FROM generate_series(1, ${waiting}) AS n, days WHERE day = day_of(now());
    INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, due_at, created_at)
    SELECT (SELECT delivery_offset FROM days WHERE day = day_of(now())) + nextval('delivery_numbers'), wanted.* FROM (
      SELECT w.id, e.id, e.entity, 0, now(), now() FROM events e, webhooks w ORDER BY e.id, w.id) wanted`)
  await db.script('VACUUM ANALYZE')
  return db
}

async function measureEach(databases: readonly Database[]): Promise<number[]> {
  const times: number[][] = databases.map(() => [])
  for (let n = 0; n < repetitions; n++) {
    for (const [index, db] of databases.entries()) times[index]!.push(await timeClaim(db))
  }
  return times.map(median)
}

/** Claimed and read, then rolled back: the next claim finds the same. */
function timeClaim(db: Database): Promise<number> {
  return timeUndone(db, async (sql) => {
    const now = new Date()
    const lanes = await sql.query<{ webhookId: number; dueFrom: Date }>(claimLanes, [
      ...[randomUUID(), now, lanesAtOnce, [], 0],
    ])
    const ids = lanes.map((lane) => lane.webhookId)
    const values = [ids, ids.map(() => readAhead), now, [], lanes.map((lane) => lane.dueFrom)]
    const due = await sql.query(selectDue, values)
    if (due.length !== lanesAtOnce * readAhead) throw new Error(`${due.length} deliveries were due.`)
  })
}

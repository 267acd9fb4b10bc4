/** A quarter, or less of one, lived through with a seed and held against its ledger. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { partOf } from '../../src/webhooks/events/part.ts'
import { openQuarter, type Quarter } from './quarter.ts'
import { findProblems } from './quarter-check.ts'

export async function liveThrough(t: TestContext, seed: number, days: number): Promise<void> {
  const quarter = await openQuarter(seed)
  try {
    await quarter.live(days)
    const problems = await findProblems(quarter)
    const { books, engine, story } = quarter
    const { events, deliveries } = books
    t.diagnostic(
      `${events.size} events, ${deliveries.size} deliveries, ${engine.receiver.received.length} requests, ${story.length} acts`,
    )
    assert.deepEqual(problems, [], story.join('\n'))
    assert.ok(events.size > 20 && deliveries.size > 50, 'there was something to lose')
    if (seed === 1) await breakEverything(quarter)
  } finally {
    await quarter.close()
  }
}

/** A check that cannot fail says nothing. */
async function breakEverything(quarter: Quarter): Promise<void> {
  const { engine, books, receivers } = quarter
  const { events, log, deliveries } = books
  const { hooks } = receivers
  const [last] = await engine.sql<{ part: number; webhook_id: number; seq: number }>(
    `SELECT part, webhook_id, seq FROM outcomes JOIN cursors USING (part, webhook_id)
       WHERE round = 0 AND state = 'delivered' ORDER BY seq DESC LIMIT 1`,
  )
  assert.ok(last, 'there was an outcome')
  await engine.sql('DELETE FROM outcomes WHERE part = $1 AND webhook_id = $2 AND seq = $3', [
    ...[last.part, last.webhook_id, last.seq],
  ])
  await engine.sql(
    `DELETE FROM log WHERE part = $1 AND feed = $2
      AND seq = (SELECT max(seq) - 1 FROM log WHERE part = $1 AND feed = $2)`,
    [partOf(engine.branchId), 2 * engine.branchId],
  )
  const { webhook } = hooks.find((hook) => !hook.isDeleted)!
  await engine.sql(
    `INSERT INTO exceptions (part, webhook_id, entity, seq, day, attempts, due_at, written_at)
     VALUES ($1, $2, 'transaction:stuck', 1, 260302, 1, 'infinity', $3)`,
    [partOf(webhook.branchId), webhook.id, engine.house.clock.now()],
  )
  const [event] = events.values()
  events.set('made up', { ...event!, uid: 'made up', wantedBy: [hooks[0]!.webhook.id] })
  log.delete([...log.keys()][0]!)
  receivers.accepted.clear()
  engine.receiver.received.reverse()
  const delivered = [...deliveries.values()].find((each) => each.state === 'delivered')!
  deliveries.set(delivered.id, { ...delivered, state: 'canceled' })
  const problems = await findProblems(quarter)
  for (const said of broken)
    assert.ok(
      problems.some((problem) => said.test(problem)),
      `${said} in ${problems.slice(0, 50).join('; ')}`,
    )
}

const broken = [
  /has a gap on day/,
  /not so that what fails or was asked for again is there/,
  /not so that what lies below the position of a webhook has ended/,
  /event made up has 0 numbers/,
  /numbers of branch \d+ have a gap/,
  /event made up was wanted by/,
  /was skipped by nobody/,
  /was never accepted/,
  /was overtaken at hook/,
  /^entry \S+ is gone/,
  /^what became of \S+ is gone/,
]

/** A quarter, or less of one, lived through with a seed and held against its ledger. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
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
  await engine.sql(
    'DELETE FROM settled_deliveries WHERE id = (SELECT max(id) FROM settled_deliveries WHERE repeats IS NULL)',
  )
  await engine.sql(
    'DELETE FROM branch_log WHERE sequence = (SELECT max(sequence) - 1 FROM branch_log WHERE branch_id = $1) AND branch_id = $1',
    [engine.branchId],
  )
  await engine.sql(
    `INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, after_id, due_at, created_at)
     SELECT max(id) + 9, $1, 1, 'transaction:0', 0, 1, 'infinity', $2 FROM settled_deliveries`,
    [hooks.find((hook) => !hook.isDeleted)!.webhook.id, engine.house.clock.now()],
  )
  const [event] = events.values()
  events.set(1, { ...event!, id: 1, wantedBy: [hooks[0]!.webhook.id] })
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
  /waits behind 1, which does not/,
  /was given \d+ deliveries and has/,
  /event 1 has 0 numbers/,
  /numbers of branch \d+ have a gap/,
  /event 1 was wanted by/,
  /has a webhook that lives|was never accepted/,
  /was overtaken at hook/,
  /of deliveries is gone/,
]

/**
 * Three nodes on a primary and its standby lose nothing that they acknowledged, whatever breaks, and work
 * again soon after. One fault of each kind, in its short form; faults.long.ts has more of them, and `npm run
 * test:faults` gives every fault its full length and prints the table of docs/reliability.md.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../support/ask.ts'

import { eventually } from '../support/eventually.ts'
import { followByHand } from '../support/follow.ts'
import { checkPromises } from './suite/checker.ts'
import { openHouse } from './suite/house.ts'
import { scenarios } from './suite/scenarios.ts'
import { testScenarios } from './suite/short-form.ts'
import { startTraffic } from './suite/traffic.ts'

testScenarios(
  'of each kind of fault the first',
  scenarios.filter(({ when }) => when === 'always'),
)

test('the checker names every kind of broken promise', async () => {
  const house = await openHouse()
  try {
    const traffic = startTraffic(house, 15)
    const { promises } = traffic
    await eventually(
      'there is one of everything',
      () => promises.revoked.size > 0 && [...promises.events.values()].some(({ place }) => place === 2),
    )
    await traffic.stop()
    assert.deepEqual((await checkPromises(house, promises)).lost, [])

    promises.events.set('evt_never', { entity: 1, place: 1_000 })
    for (const token of promises.revoked) promises.tokens.add(token)
    const [entity] = [...promises.events.values()].filter(({ place }) => place === 2)
    const idOf = (place: number) =>
      [...promises.events].find(([, event]) => event.entity === entity!.entity && event.place === place)![0]
    const { received } = house.receiver
    const [first, second] = [1, 2].map((place) =>
      received.findIndex(({ path, id }) => path === house.hooks[0] && id === idOf(place)),
    ) as [number, number]
    ;[received[first], received[second]] = [received[second]!, received[first]!]
    await eventually('positions behind what is to be lost', async () => {
      const behind = 'SELECT FROM cursors WHERE position < 4'
      return (await ask(house.db, behind)).length === 0
    })
    await house.db.script('DELETE FROM log WHERE seq = 2')
    await house.db.script('DELETE FROM outcomes WHERE seq = 3')
    await house.db.script(
      "ALTER TABLE audit_entries DISABLE TRIGGER ALL; UPDATE audit_entries SET actor = 'nobody'",
    )
    // Of a webhook that is paused, so that nobody comes upon it.
    await house.db.script(`UPDATE webhooks SET state = 'paused' WHERE id = (SELECT max(id) FROM webhooks);
      ${followByHand}
      INSERT INTO exceptions (part, webhook_id, entity, seq, day, attempts, due_at, written_at)
      SELECT part, webhook_id, 'transaction:stuck', 1, 1, 1, now(), now() FROM cursors
        ORDER BY webhook_id DESC LIMIT 1`)
    const { lost } = await checkPromises(house, promises, 0)
    for (const said of [
      /evt_never is not stored/,
      /evt_never never reached \/one/,
      /was overtaken at \/one/,
      /answered 401 instead of 200/,
      /not so that the numbers of a branch have no gap/,
      /not so that what lies below the position of a webhook has ended/,
      /not so that what fails or was asked for again is there/,
      /audit chain is broken/,
    ]) {
      assert.ok(
        lost.some((problem) => said.test(problem)),
        `${said} in ${lost.join('; ')}`,
      )
    }
  } finally {
    await house.close()
  }
})

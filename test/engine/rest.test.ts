/** Falling asleep, of several lanes at once. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { partOf } from '../../src/webhooks/events/part.ts'
import { eventually } from '../support/eventually.ts'
import { openEngineHouse } from './house.ts'

const house = await openEngineHouse()
after(() => house.close())
const worker = await house.openWorker(500)

const isHeld = `SELECT FROM cursors WHERE webhook_id = $1 AND holder IS NOT NULL`

/** As long as its row is locked, a lane does not fall asleep. */
async function keepAwake(
  branch: number,
  webhook: number,
  serve: () => Promise<void>,
): Promise<() => Promise<void>> {
  for (;;) {
    await serve()
    const [locked, over] = [Promise.withResolvers<boolean>(), Promise.withResolvers<void>()]
    const holding = house.db.transaction(async (sql) => {
      await sql.script(
        `SELECT FROM cursors WHERE part = ${partOf(branch)} AND webhook_id = ${webhook} FOR SHARE`,
      )
      const rows = await house.sql(isHeld, [webhook])
      locked.resolve(rows.length > 0)
      if (rows.length > 0) await over.promise
    })
    if (await locked.promise)
      return async () => {
        over.resolve()
        await holding
      }
    await holding
  }
}

test('a lane that gets something new while another part is put to rest stays awake until that is written down', async () => {
  const [first, second] = [await house.makeBranch(), await house.makeBranch()]
  const [other, webhook] = [
    await house.makeWebhook(first, '/first'),
    await house.makeWebhook(second, '/second'),
  ]
  const answered = Promise.withResolvers<void>()
  house.receiver.on('/second', async ({ body }, response) => {
    if (body.includes('new')) await answered.promise
    response.end()
  })
  const written = (of: number) => house.sql('SELECT FROM outcomes WHERE webhook_id = $1', [of])
  let rounds = 0
  const letGo = await keepAwake(first, other, async () => {
    rounds++
    for (const [branch, of] of [
      [second, webhook],
      [first, other],
    ] as const) {
      await house.publish(branch, [`old ${rounds}`])
      worker.published([partOf(branch)])
      await eventually('it is written down', async () => (await written(of)).length === rounds)
    }
  })
  await house.untilBlocked()
  await house.publish(second, ['new'])
  worker.published([partOf(second)])
  await eventually('the new one under way', () => house.receiver.at('/second').length === rounds + 1)
  await letGo()
  await eventually('the other asleep', async () => (await house.sql(isHeld, [other])).length === 0)
  answered.resolve()
  await eventually('all written down', async () => {
    const [cursor] = await house.sql<{ position: number }>(
      'SELECT position FROM cursors WHERE webhook_id = $1',
      [webhook],
    )
    const outcomes = (await written(webhook)).length
    assert.ok(cursor!.position <= outcomes, 'the position is above what was not written down')
    return outcomes === rounds + 1
  })
})

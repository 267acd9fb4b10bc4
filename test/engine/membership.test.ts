import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Database } from '../../src/database/database.ts'
import { Membership } from '../../src/webhooks/engine/membership.ts'
import { partOf } from '../../src/webhooks/events/part.ts'
import { eventually } from '../support/eventually.ts'
import { openEngineHouse } from './house.ts'

const house = await openEngineHouse()
after(() => house.close())

async function join(): Promise<Membership> {
  const member = new Membership({ db: house.db, clock: house.clock, heard: () => {}, joined: () => {} })
  after(() => member.close())
  member.attend()
  await eventually('a number', () => member.number !== undefined)
  return member
}

const holderOf = async (webhookId: number) => {
  const [row] = await house.sql<{ holder: number | null }>(
    'SELECT holder FROM cursors WHERE webhook_id = $1',
    [webhookId],
  )
  return row!.holder
}

const nobodyMissing = { others: 0, lanes: 0, follows: false, missing: 0, silentSince: new Date(0) }

test('a worker that joins and takes a lane while another looks for orphans keeps it', async () => {
  const branch = await house.makeBranch()
  const webhook = await house.makeWebhook(branch, '/a')
  const first = await join()
  let looking: Promise<boolean> | undefined
  let second: Membership | undefined
  await house.db.transaction(async (sql) => {
    await sql.script('LOCK TABLE cursors IN ACCESS EXCLUSIVE MODE')
    looking = first.evict(nobodyMissing)
    await house.untilBlocked()
    second = await join()
    await sql.script(
      `UPDATE cursors SET holder = ${second.number}, epoch = epoch + 1
       WHERE part = ${partOf(branch)} AND webhook_id = ${webhook}`,
    )
  })
  assert.equal(await looking, false)
  assert.equal(await holderOf(webhook), second!.number)
})

test('a lane of a worker that is no more is freed', async () => {
  const branch = await house.makeBranch()
  const webhook = await house.makeWebhook(branch, '/b')
  const member = await join()
  await house.sql('UPDATE cursors SET holder = 999 WHERE webhook_id = $1', [webhook])
  assert.equal(await member.evict(nobodyMissing), true)
  assert.equal(await holderOf(webhook), null)
})

test('a worker holds the lock by which it is known to live before others know of it', async (t) => {
  const known = Promise.withResolvers<number>()
  const listen: Database['listen'] = async (...asked) => {
    const { number } = asked[3]!
    known.resolve((await house.sql('SELECT FROM workers WHERE number = $1', [number])).length)
    return house.db.listen(...asked)
  }
  const member = new Membership({
    ...{ db: { ...house.db, listen }, clock: house.clock },
    ...{ heard: () => {}, joined: () => {} },
  })
  t.after(() => member.close())
  member.attend()
  assert.equal(await known.promise, 0)
})

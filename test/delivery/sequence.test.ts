/**
 * The branch's log has no gap, whoever publishes and whatever is rolled back; authorizations are told to
 * those who ask.
 */

import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import type { Sql } from '../../src/database/database.ts'
import { kinds } from '../../src/webhooks/events/kind.ts'
import { ask } from '../support/ask.ts'
import { postForm } from '../support/browser.ts'
import { type Engine, entities, openEngine } from '../support/engine.ts'
import { basic } from '../support/gateway.ts'

let engine: Engine
beforeEach(async () => {
  engine = await openEngine({ DATABASE_CONNECTIONS: '20' })
})
afterEach(() => engine.close())

interface Page {
  readonly events: { sequence: number; entity: string; body: string }[]
  readonly after: number
}

async function readAll(): Promise<Page['events']> {
  const all: Page['events'] = []
  for (;;) {
    const page = (
      await engine.call('GET', `/v2/events?limit=100&after=${all.at(-1)?.sequence ?? 0}`)
    ).json<Page>()
    if (page.events.length === 0) return all
    all.push(...page.events)
  }
}

class ChangedMind extends Error {}

/** With a space and digits that nobody may change. */
function bodyOf(id: number): string {
  const { branchId } = engine
  return `{"transactionId":${id}, "clearingAccount":"1234", "type":"TRANSACTION", "action":"COMPLETED", "branchId":${branchId}, "email":"a@example.com", "amount": 500.10, "direction":"DEPOSIT"}`
}

async function publishFromSql(sql: Sql, id: number): Promise<void> {
  const text = `SELECT publish_event('live', $1, 'TRANSACTION', 'COMPLETED', $2, $3)`
  await ask(sql, text, [engine.branchId, String(id), bodyOf(id)])
}

test('the sequence has no gap under parallel publishers, two nodes and transactions that are rolled back', async () => {
  await engine.openNode()
  let committed = 0
  await Promise.all(
    Array.from({ length: 10 }, async (_, publisher) => {
      for (let round = 0; round < 30; round++) {
        const id = 1000 * (publisher + 1) + round
        if (round % 3 === 0) {
          await engine.publish(...entities(2, `transaction:${id}`))
          committed += 2
          continue
        }
        const changesMind = round % 3 === 1
        const work = engine.db.transaction(async (sql) => {
          await publishFromSql(sql, id)
          if (changesMind) throw new ChangedMind()
        })
        await work.catch((error: unknown) => {
          if (!(error instanceof ChangedMind)) throw error
        })
        if (!changesMind) committed++
      }
    }),
  )
  await engine.idle()
  const log = await readAll()
  assert.deepEqual(
    log.map((event) => event.sequence),
    Array.from({ length: committed }, (_, index) => index + 1),
  )
  assert.equal(new Set(log.map((event) => event.entity)).size, committed)
  assert.ok(
    !log.some((event) => (Number(/^transaction:(\d+)$/.exec(event.entity)?.[1]) % 1000) % 3 === 1),
    'what was rolled back never happened',
  )
})

test('an event published from SQL arrives byte for byte, and only when its transaction commits', async () => {
  await engine.makeWebhook('/hook')
  await engine.db.transaction(async (sql) => {
    await sql.script('SET LOCAL idle_in_transaction_session_timeout = 0')
    await publishFromSql(sql, 42)
    await engine.publish({ entity: 'transaction:first' })
    await engine.receiver.count('/hook', 1)
  })
  await engine.receiver.count('/hook', 2)
  assert.equal(engine.receiver.received[1]!.body, bodyOf(42))
  const log = await readAll()
  assert.deepEqual(
    log.map((event) => [event.sequence, event.entity]),
    [
      [1, 'transaction:first'],
      [2, 'transaction:42'],
    ],
  )
})

test('what account holders grant and revoke is told to those who ask for it, and to nobody else', async () => {
  await engine.makeWebhook('/asked', { kinds })
  await engine.makeWebhook('/usual')
  const { house, client } = engine
  const browser = await house.signIn(await house.makeUser())
  const first = (await house.approve(client, browser, { scope: 'read' })).get('code')!
  const tokens = (await house.exchange(client, first)).json<{ access_token: string; refresh_token: string }>()
  await house.approve(client, browser, { scope: 'read trade' })
  const revoked = await postForm(
    `${house.baseUrl}/v1/oauth/revoke`,
    { token: tokens.refresh_token },
    basic(client),
  )
  assert.equal(revoked.status, 200)
  const [authorization] = await engine.sql<{ id: string; revoked_at: Date | null }>(
    'SELECT id, revoked_at FROM authorizations',
  )
  if (!authorization!.revoked_at)
    await engine.sql(`UPDATE authorizations SET revoked_at = now(), revoked_reason = 'holder'`)
  await engine.receiver.count('/asked', 3)
  await engine.idle()
  const told = engine.receiver.at('/asked').map((request) => JSON.parse(request.body))
  assert.deepEqual(
    told.map(({ type, action, scope }) => [type, action, scope]),
    [
      ['AUTHORIZATION', 'GRANTED', 'read'],
      ['AUTHORIZATION', 'CHANGED', 'read trade'],
      ['AUTHORIZATION', 'REVOKED', 'read trade'],
    ],
  )
  assert.ok(told.every((body) => body.branchId === engine.branchId && body.clientId === client.id))
  assert.equal(engine.receiver.at('/usual').length, 0)
})

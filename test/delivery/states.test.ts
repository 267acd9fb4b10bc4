import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { deliveryStates } from '../../src/webhooks/delivery.ts'
import { openEngine } from '../support/engine.ts'
import { keepOpen } from '../support/keep-open.ts'

const engine = await keepOpen(openEngine({ ROLES: 'api' }))

const sorted = (words: Iterable<string>) => [...new Set(words)].sort()

async function statesInConstraint(table: string): Promise<string[]> {
  const rows = await engine.sql<{ definition: string }>(
    `SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE conrelid = $1::regclass AND contype = 'c' AND conname = $2`,
    [table, `${table}_state_check`],
  )
  assert.equal(rows.length, 1)
  return sorted([...rows[0]!.definition.matchAll(/'(\w+)'/g)].map((match) => match[1]!))
}

/** Unfinished ones are told apart by what they wait for, not by a word. */
const isFinal = (state: string) => state !== 'waiting' && state !== 'blocked'

test('the states of a delivery are the same in the type, in the constraint and in the drawing', async () => {
  const page = readFileSync(new URL('../../docs/delivery.md', import.meta.url), 'utf8')
  const drawing = /## States of a delivery\s+```\n([\s\S]*?)```/.exec(page)![1]!
  const words = new Set(drawing.match(/[a-z]+/g))
  const drawn = deliveryStates.filter((state) => words.has(state))
  const arrows = [...drawing.matchAll(/▶ *([a-z]+)/g)].map((match) => match[1]!)
  assert.deepEqual(drawn, [...deliveryStates])
  assert.deepEqual(
    arrows.filter((state) => !(deliveryStates as readonly string[]).includes(state)),
    [],
  )
  assert.deepEqual(await statesInConstraint('settled_deliveries'), sorted(deliveryStates.filter(isFinal)))
})

test('the states of a webhook are the same in the constraint and in the table of the page', async () => {
  const page = readFileSync(new URL('../../docs/delivery.md', import.meta.url), 'utf8')
  const table = /\| Webhook \|[\s\S]*?\n\n/.exec(page)![0]
  const written = sorted([...table.matchAll(/^\| `(\w+)`/gm)].map((match) => match[1]!))
  assert.deepEqual(written, await statesInConstraint('webhooks'))
})

test('a row that contradicts itself cannot exist', async () => {
  const webhook = await engine.makeWebhook('/a')
  await engine.publish({})
  const [event] = await engine.sql<{ id: number }>('SELECT id FROM events')
  for (const [afterId, dueAt] of [
    [null, 'infinity'],
    [1, 'now'],
  ]) {
    const insertion = engine.sql(
      `INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, after_id, due_at, created_at)
       VALUES (7, $1, $2, 'transaction:1', 0, $3, $4, now())`,
      [webhook.id, event!.id, afterId, dueAt],
    )
    await assert.rejects(insertion, /violates check constraint/, String(dueAt))
  }
  for (const [state, settledAt] of [
    ['sent', 'now'],
    ['waiting', 'now'],
    ['delivered', null],
  ]) {
    const insertion = engine.sql(
      `INSERT INTO settled_deliveries (id, webhook_id, event_id, entity, state, created_at, settled_at)
       VALUES ($2, $1, $2, 'transaction:1', $3, now(), $4)`,
      [webhook.id, event!.id, state, settledAt],
    )
    await assert.rejects(insertion, /violates (check|not-null) constraint/, String(state))
  }
})

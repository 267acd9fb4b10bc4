import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { deliveryStates } from '../../src/webhooks/deliveries/delivery.ts'
import { openEngine } from '../support/engine.ts'
import { keepOpen } from '../support/keep-open.ts'

const engine = await keepOpen(openEngine({ ROLES: 'api' }))

const sorted = (words: Iterable<string>) => [...new Set(words)].sort()

async function statesInConstraint(table: string): Promise<string[]> {
  const rows = await engine.sql<{ definition: string }>(
    `SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE conrelid = $1::regclass
      AND contype = 'c' AND conname = $2`,
    [table, `${table}_state_check`],
  )
  assert.equal(rows.length, 1)
  return sorted([...rows[0]!.definition.matchAll(/'(\w+)'/g)].map((match) => match[1]!))
}

/** Unfinished ones are told apart by what they wait for, not by a word. */
const isFinal = (state: string) => state !== 'waiting' && state !== 'blocked'

test('the states of a delivery are the same in the type, in the constraint and in the drawing', async () => {
  const page = readFileSync(new URL('../../docs/delivery.md', import.meta.url), 'utf8')
  const drawing = /## States of a delivery\s+```mermaid\n([\s\S]*?)```/.exec(page)![1]!
  const words = new Set(drawing.match(/[a-z]+/g))
  const drawn = deliveryStates.filter((state) => words.has(state))
  const arrows = [...drawing.matchAll(/--> *([a-z]+)/g)].map((match) => match[1]!)
  assert.deepEqual(drawn, [...deliveryStates])
  assert.deepEqual(
    arrows.filter((state) => !(deliveryStates as readonly string[]).includes(state)),
    [],
  )
  const stored = [...(await statesInConstraint('outcomes')), ...(await statesInConstraint('passes'))]
  assert.deepEqual(
    sorted(stored.filter((state) => state !== 'retrying')),
    sorted(deliveryStates.filter(isFinal)),
  )
})

test('the states of a webhook are the same in the constraint and in the table of the page', async () => {
  const page = readFileSync(new URL('../../docs/delivery.md', import.meta.url), 'utf8')
  const table = /\| Webhook \|[\s\S]*?\n\n/.exec(page)![0]
  const written = sorted([...table.matchAll(/^\| `(\w+)`/gm)].map((match) => match[1]!))
  assert.deepEqual(written, await statesInConstraint('webhooks'))
})

test('a row that contradicts itself cannot exist', async () => {
  const webhook = await engine.makeWebhook('/a')
  const insert = (state: string, outcome: string | null, why: string | null) =>
    engine.sql(
      `INSERT INTO outcomes (part, webhook_id, seq, round, attempt, day, at, duration_ms, state, outcome, why)
       SELECT 0, $1, 1, 0, 1, day, now(), 5, $2, $3, $4 FROM days LIMIT 1`,
      [webhook.id, state, outcome, why],
    )
  for (const [state, outcome, why] of [
    ['sent', 'accepted', null],
    ['waiting', 'accepted', null],
    ['delivered', null, null],
    ['canceled', 'accepted', null],
    ['exhausted', 'unreachable', null],
    ['exhausted', 'refused', 'timeout'],
  ] as const)
    await assert.rejects(
      insert(state, outcome, why),
      /violates check constraint/,
      `${state} ${outcome} ${why}`,
    )
  const contradiction = engine.sql('UPDATE cursors SET failures = 1 WHERE webhook_id = $1', [webhook.id])
  await assert.rejects(contradiction, /violates check constraint/)
})

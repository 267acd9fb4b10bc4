/** What nobody waits for waits for company, so that many share a transaction; what somebody waits for does not. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { hour } from '../../src/clock.ts'
import { dispatchPart } from '../../src/webhooks/dispatch.ts'
import type { DueDelivery, Lane } from '../../src/webhooks/lane.ts'
import { partOf } from '../../src/webhooks/part.ts'
import { openSettlements, type Settlement, type Settlements } from '../../src/webhooks/settlement.ts'
import { type Engine, entities, openEngine } from '../support/engine.ts'
import { accepted, claim, readDue } from '../support/hand-worker.ts'

let engine: Engine
let lane: Lane
let due: DueDelivery[]
let settlements: Settlements
beforeEach(async () => {
  engine = await openEngine({ ROLES: 'api' })
  const { dispatch } = engine.house.gateway.context
  await engine.makeWebhook('/a')
  await engine.publish(...entities(10))
  await dispatchPart(dispatch, partOf(engine.branchId))
  lane = (await claim(dispatch))[0]!
  due = await readDue(dispatch, lane)
  // Whoever waited for the clock would wait for the end of the test.
  settlements = openSettlements(dispatch, hour)
})
afterEach(() => engine.close())

function settlementOf(delivery: DueDelivery): Settlement {
  const now = engine.house.clock.now()
  return { lane, delivery, outcome: accepted, at: now, durationMs: 1, now, disable: undefined }
}

const countSettled = async () => (await engine.sql(`SELECT FROM deliveries WHERE state = 'delivered'`)).length

test('a lone one waits until somebody waits for it', async () => {
  const settling = settlements.settle(settlementOf(due[0]!))
  assert.equal(await countSettled(), 0)
  settlements.hurry()
  assert.equal((await settling).accepted, true)
  assert.equal(await countSettled(), 1)
})

test('one that is awaited takes those with it that are not', async () => {
  const lone = settlements.settle(settlementOf(due[0]!))
  const awaited = settlements.settle(settlementOf(due[1]!), true)
  assert.deepEqual(
    (await Promise.all([lone, awaited])).map((each) => each.accepted),
    [true, true],
  )
})

test('eight are company enough', async () => {
  const settling = due.slice(0, 8).map((delivery) => settlements.settle(settlementOf(delivery)))
  assert.ok((await Promise.all(settling)).every((each) => each.accepted))
})

test('one that is awaited while others are being written is next', async () => {
  const first = settlements.settle(settlementOf(due[0]!), true)
  // The others are under way when this one comes.
  await new Promise(setImmediate)
  const second = settlements.settle(settlementOf(due[1]!), true)
  assert.deepEqual(
    (await Promise.all([first, second])).map((each) => each.accepted),
    [true, true],
  )
})

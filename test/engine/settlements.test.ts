/** What lanes have to have written down, written down: lanes without a worker, on a real PostgreSQL. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, second } from '../../src/clock.ts'
import { type Database, step } from '../../src/database/database.ts'
import * as kernel from '../../src/webhooks/engine/kernel.sql.ts'
import { Lane, type LoadedLane, type Verdict } from '../../src/webhooks/engine/lane.ts'
import {
  type DeliveryLane,
  type ReceiverAnswer,
  type SettlementResult,
  Settlements,
} from '../../src/webhooks/engine/settlements.ts'
import { Feed } from '../../src/webhooks/events/feed.ts'
import { feedOf } from '../../src/webhooks/events/part.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openEngineHouse } from './house.ts'

const house = await keepOpen(openEngineHouse())
const { db, clock } = house
const now = clock.now()
const delivered: Verdict = { state: 'delivered', dueAt: undefined }
const refused: Verdict = { state: 'retrying', dueAt: after(now, 5 * second) }
const said: ReceiverAnswer = {
  outcome: { kind: 'accepted', status: 200 },
  at: now,
  durationMs: 1,
} as ReceiverAnswer

async function read({ feed, webhookId }: DeliveryLane): Promise<LoadedLane> {
  const values = { part: feed.part, webhookIds: [webhookId] }
  const [cursors, filters, exceptions, agains, ahead] = await db.together([
    step(kernel.loadCursors, values),
    step(kernel.loadFilters, values),
    step(kernel.loadExceptions, values),
    step(kernel.loadAgains, values),
    step(kernel.loadAhead, values),
  ])
  const replay = undefined
  return { cursor: cursors[0]!, filters, exceptions, agains, ahead: ahead.map(({ seq }) => seq), replay }
}

/** Lanes of a branch, all of one holder, with what happened. */
async function openLanes(count: number, entities: readonly string[]): Promise<DeliveryLane[]> {
  const branchId = await house.makeBranch()
  const ids: number[] = []
  while (ids.length < count) ids.push(await house.makeWebhook(branchId, '/'))
  const { entries } = await house.number(branchId, entities)
  const feed = new Feed(db, feedOf({ branchId, environment: 'live' }))
  feed.append(entries.at(-1)!.seq, entries)
  await db.query(kernel.take, { part: feed.part, worker: 1, now, most: count, exceptIds: [] })
  const lanes = ids.map((id): DeliveryLane => new Lane(id, feed))
  for (const lane of lanes) {
    lane.load(await read(lane))
    lane.scan()
  }
  return lanes
}

const outcomes = ({ webhookId }: DeliveryLane) =>
  house.sql<{ seq: number; attempt: number; state: string }>(
    'SELECT seq, attempt, state FROM outcomes WHERE webhook_id = $1 ORDER BY seq, attempt',
    [webhookId],
  )

function answerNext(settlements: Settlements, lane: DeliveryLane, verdict = delivered): void {
  assert.equal(lane.answer(lane.next(now)!, verdict, said, now), true)
  settlements.note(lane)
}

async function drain(settlements: Settlements): Promise<SettlementResult[]> {
  const all: SettlementResult[] = []
  for await (const written of settlements.run()) all.push(written)
  return all
}

test('lanes whose epoch is another are refused, and the others of the statement are written', async () => {
  const [own, lost] = (await openLanes(2, ['a'])) as [DeliveryLane, DeliveryLane]
  await house.sql('UPDATE cursors SET epoch = epoch + 1 WHERE webhook_id = $1', [lost.webhookId])
  const settlements = new Settlements({ db, clock })
  for (const lane of [own, lost]) answerNext(settlements, lane)
  settlements.close()
  const [written, ...more] = await drain(settlements)
  assert.deepEqual([written!.settled.map(({ lane }) => lane), written!.refused, more], [[own], [lost], []])
  assert.deepEqual([(await outcomes(own)).length, (await outcomes(lost)).length], [1, 0])
  assert.deepEqual([own.isSettling, own.unsettled, lost.unsettled], [false, 0, 1])
})

test('a webhook is in a settlement once: a lane that was lost says nothing, though its webhook is held again', async () => {
  const [former] = (await openLanes(1, ['a', 'b'])) as [DeliveryLane]
  const settlements = new Settlements({ db, clock })
  answerNext(settlements, former)
  await house.sql('UPDATE cursors SET epoch = epoch + 1 WHERE webhook_id = $1', [former.webhookId])
  former.lose()
  const lane: DeliveryLane = new Lane(former.webhookId, former.feed)
  lane.load(await read(lane))
  lane.scan()
  answerNext(settlements, lane)
  answerNext(settlements, lane)
  settlements.close()
  const [written, ...more] = await drain(settlements)
  assert.deepEqual([written!.settled.map(({ lane }) => lane), written!.refused, more], [[lane], [], []])
  assert.equal((await outcomes(lane)).length, 2)
})

/** What it did is done, and nobody is told. */
const losingReplies = (db: Database): Database => ({
  ...db,
  at: (server) => losingReplies(db.at(server)),
  async query(...asked) {
    await db.query(...asked)
    throw new Error('the connection was lost')
  },
})

test('a settlement whose answer was lost is not told again: what is written is found by loading', async () => {
  const [lane] = (await openLanes(1, ['a', 'b'])) as [DeliveryLane]
  const settlements = new Settlements({ db: losingReplies(db), clock })
  answerNext(settlements, lane, refused)
  answerNext(settlements, lane)
  settlements.close()
  const [written, ...more] = await drain(settlements)
  assert.deepEqual([written!.settled, written!.refused, more], [[], [lane], []])
  lane.load(await read(lane))
  lane.scan()
  assert.deepEqual([lane.compose(false, now)?.results.length ?? 0, lane.next(now)], [0, undefined])
  assert.deepEqual(await outcomes(lane), [
    { seq: 1, attempt: 1, state: 'retrying' },
    { seq: 2, attempt: 1, state: 'delivered' },
  ])
})

test('what is answered while a statement runs is written by the next', async () => {
  const [lane] = (await openLanes(1, ['a', 'b'])) as [DeliveryLane]
  const settlements = new Settlements({ db, clock })
  const running = drain(settlements)
  await db.transaction(async (sql) => {
    await ask(sql, 'SELECT FROM cursors WHERE part = $1 AND webhook_id = $2 FOR UPDATE', [
      lane.feed.part,
      lane.webhookId,
    ])
    answerNext(settlements, lane)
    await house.untilBlocked()
    answerNext(settlements, lane)
  })
  await eventually('both outcomes', async () => (await outcomes(lane)).length === 2)
  settlements.close()
  assert.equal((await running).length, 2)
})

test('whoever closes has written everything that was answered', async () => {
  const [lane] = (await openLanes(1, ['a'])) as [DeliveryLane]
  const settlements = new Settlements({ db, clock })
  answerNext(settlements, lane)
  settlements.close()
  await drain(settlements)
  assert.equal((await outcomes(lane)).length, 1)
})

test('how a receiver fares is written as it changes: failures with the moment until which it is held, and that they are over', async () => {
  const [lane] = (await openLanes(1, ['a', 'b'])) as [DeliveryLane]
  const written = async () => {
    const { cursor } = await read(lane)
    return [cursor.failures, cursor.failingSince, cursor.holdUntil]
  }
  const until = after(now, second)
  const settle = async (verdict: Verdict) => {
    const settlements = new Settlements({ db, clock })
    answerNext(settlements, lane, verdict)
    if (verdict === refused) lane.hold(until, now)
    settlements.close()
    await drain(settlements)
  }
  await settle(refused)
  assert.deepEqual(await written(), [1, now, until])
  lane.load({
    ...(await read(lane)),
    cursor: { ...(await read(lane)).cursor, holdUntil: null, epoch: lane.epoch + 1 },
  })
  await house.sql('UPDATE cursors SET epoch = epoch + 1 WHERE webhook_id = $1', [lane.webhookId])
  lane.scan()
  await settle(delivered)
  assert.deepEqual(await written(), [0, null, null])
})

const answers = ({ feed, webhookId }: DeliveryLane) =>
  house.sql<{ day: number; response: string; told: number }>(
    `SELECT a.day, a.response, (SELECT count(*)::int FROM outcomes o WHERE o.part = $1
      AND o.webhook_id = a.webhook_id AND o.said = a.said) AS told
     FROM answers a WHERE a.part = $1 AND a.webhook_id = $2 ORDER BY a.day, a.response`,
    [feed.part, webhookId],
  )

function answerWith(settlements: Settlements, lane: DeliveryLane, response: string): void {
  const outcome = { kind: 'accepted', status: 200, response } as const
  assert.equal(lane.answer(lane.next(now)!, delivered, { ...said, outcome }, now), true)
  settlements.note(lane)
}

test('what a receiver says each time is written once a day, and every attempt knows what it was', async () => {
  const [lane] = (await openLanes(1, ['A', 'B', 'C', 'D'])) as [DeliveryLane]
  let today = now
  const settlements = new Settlements({ db, clock: { now: () => today } })
  const written = settlements.run()
  const settleNext = async (response: string) => {
    answerWith(settlements, lane, response)
    const { value } = await written.next()
    assert.deepEqual(value?.refused, [])
  }
  await settleNext('ok')
  await settleNext('ok')
  await settleNext('thank you')
  assert.deepEqual(
    (await answers(lane)).map(({ response, told }) => [response, told]),
    [
      ['ok', 2],
      ['thank you', 1],
    ],
  )
  // Yesterday's words leave a day earlier.
  today = after(now, 24 * 60 * 60 * second)
  await settleNext('ok')
  assert.equal((await answers(lane)).filter(({ response }) => response === 'ok').length, 2)
  settlements.close()
  assert.equal((await written.next()).done, true)
})

test('words of a lane that was refused are not taken for written', async () => {
  const [lane] = (await openLanes(1, ['A', 'B'])) as [DeliveryLane]
  const settlements = new Settlements({ db, clock })
  const written = settlements.run()
  await house.sql('UPDATE cursors SET epoch = epoch + 1 WHERE webhook_id = $1', [lane.webhookId])
  answerWith(settlements, lane, 'ok')
  assert.deepEqual((await written.next()).value?.refused, [lane])
  lane.load(await read(lane))
  lane.scan()
  settlements.note(lane)
  await written.next()
  assert.deepEqual(
    (await answers(lane)).map(({ response, told }) => [response, told]),
    [['ok', 1]],
  )
  settlements.close()
  assert.equal((await written.next()).done, true)
})

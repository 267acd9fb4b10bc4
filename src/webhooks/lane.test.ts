import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, day, hour, minute, second } from '../clock.ts'
import {
  type DueDelivery,
  freeSlots,
  handBack,
  holdUntil,
  isBreakerOpen,
  type Lane,
  notBefore,
  noteDrained,
  noteFailure,
  noteSuccess,
  openLane,
  shouldDisable,
  takeInHand,
} from './lane.ts'

const now = new Date('2026-03-02T10:00:00Z')
const clock = { now: () => now }
const fresh = (failures = 0) =>
  openLane({
    webhookId: 1,
    part: 1,
    branchId: 1,
    claimId: 'claim',
    leasedUntilMs: Number.POSITIVE_INFINITY,
    failures,
    failingSince: failures > 0 ? now : undefined,
    evidence: failures,
    dueFrom: now,
    limitedUntil: undefined,
  })

function dueOf(change: Partial<DueDelivery> = {}): DueDelivery {
  const event = { id: 1, uid: '', publishedAt: now, traceparent: null, simulated: false, body: '' }
  return {
    id: 7,
    webhookId: 1,
    eventId: 1,
    entity: 'a',
    branchId: 1,
    dueAt: now,
    attempts: 0,
    repeats: null,
    url: '',
    event,
    ...change,
  }
}

/** The first attempts of different entities. */
function failTimes(lane: Lane, times: number, at = now): Lane {
  for (let time = 0; time < times; time++) noteFailure(lane, dueOf({ entity: `failed:${lane.failures}` }), at)
  return lane
}

function hold(lane: Lane, ...ids: number[]): void {
  for (const id of ids) {
    lane.buffer.push(dueOf({ id }))
    lane.inHand.add(id)
  }
}

test('a lane sends ten at once while its breaker is closed', () => {
  const lane = failTimes(fresh(), 4)
  assert.equal(isBreakerOpen(lane), false)
  assert.equal(freeSlots(lane, clock), 10)
  lane.sending = 7
  assert.equal(freeSlots(lane, clock), 3)
})

test('the fifth entity that fails in a row opens the breaker and hands back what is not sent yet', () => {
  const lane = failTimes(fresh(), 4)
  hold(lane, 7, 8)
  failTimes(lane, 1)
  assert.equal(isBreakerOpen(lane), true)
  assert.equal(lane.buffer.length, 0)
  assert.equal(lane.inHand.size, 0)
  assert.equal(freeSlots(lane, clock), 0)
})

test('an entity that fails again and again is no evidence: it is held alone', () => {
  const lane = fresh()
  for (let attempts = 0; attempts < 11; attempts++) noteFailure(lane, dueOf({ attempts }), now)
  assert.deepEqual([lane.failures, lane.evidence, isBreakerOpen(lane)], [11, 1, false])
})

test('a receiver that asks to be left alone is, as a whole and until then', () => {
  const lane = fresh()
  hold(lane, 7, 8)
  holdUntil(lane, after(now, minute))
  holdUntil(lane, after(now, second))
  assert.deepEqual([freeSlots(lane, clock), lane.inHand.size, notBefore(lane, now)], [0, 0, after(now, minute)])
})

test('what was answered and is not written down yet takes up room', () => {
  const lane = fresh()
  lane.unsettled = 97
  assert.equal(freeSlots(lane, clock), 3)
  lane.unsettled = 100
  assert.equal(freeSlots(lane, clock), 0)
})

test('where a lane looks next lies before everything that it has left behind', () => {
  const lane = fresh()
  noteDrained(lane, after(now, minute))
  assert.deepEqual(lane.dueFrom, after(now, minute - 6 * second))
  hold(lane, 7)
  handBack(lane)
  assert.deepEqual(lane.dueFrom, now)
})

test('a success between failures keeps the breaker closed', () => {
  const lane = failTimes(fresh(), 4)
  noteSuccess(lane)
  failTimes(lane, 4)
  assert.equal(isBreakerOpen(lane), false)
})

test('an open breaker probes with one attempt, 5 to 60 seconds apart', () => {
  const waits = [5, 6, 7, 8, 9, 50, 2_000].map((failures) => {
    const lane = failTimes(fresh(failures - 1), 1)
    return (lane.probeAt!.getTime() - now.getTime()) / second
  })
  assert.deepEqual(waits, [5, 10, 20, 40, 60, 60, 60])
  assert.equal(freeSlots(fresh(5), clock), 1)
})

test('ten that fail together open the breaker once: the first probe comes after five seconds', () => {
  const lane = failTimes(fresh(), 10)
  assert.equal(lane.failures, 5)
  assert.equal((lane.probeAt!.getTime() - now.getTime()) / second, 5)
})

test('one success closes the breaker', () => {
  const lane = failTimes(fresh(), 9)
  noteSuccess(lane)
  assert.equal(freeSlots(lane, clock), 10)
  assert.equal(lane.failingSince, undefined)
})

test('five days and a hundred attempts without a success disable; neither alone does', () => {
  const lane = failTimes(fresh(99), 1)
  assert.equal(shouldDisable(lane, after(now, 5 * day - minute)), false)
  assert.equal(shouldDisable(lane, after(now, 5 * day)), true)
  assert.equal(shouldDisable(failTimes(fresh(98), 1), after(now, 6 * day)), false)
  noteSuccess(lane)
  assert.equal(shouldDisable(lane, after(now, 5 * day + hour)), false)
})

test('past its lease a lane sends nothing', () => {
  const lane = fresh()
  lane.leasedUntilMs = performance.now() - 1
  assert.equal(freeSlots(lane, clock), 0)
})

const due = dueOf()

test('what is read while the breaker opens is not taken in hand: nobody would send it, nor let the lane go', () => {
  const lane = failTimes(fresh(4), 1)
  takeInHand(lane, due, clock)
  assert.deepEqual([lane.buffer.length, lane.inHand.size], [0, 0])
})

test('a delivery is in hand once, however often it is read', () => {
  const lane = fresh()
  takeInHand(lane, due, clock)
  takeInHand(lane, due, clock)
  assert.equal(lane.buffer.length, 1)
})

test('a lane that is handed something is not quiet, however short the time that it is busy', () => {
  const lane = fresh()
  lane.quietSince = 1
  takeInHand(lane, dueOf(), clock)
  assert.equal(lane.quietSince, undefined)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { begunInTurn, burstTimeoutMs, floodTimeoutMs, openEntrance, waitingAtMost } from './entrance.ts'

/** An entrance with a clock that is moved by hand, and what became of its guests. */
function openDoor() {
  let time = 0
  const begun: number[] = []
  const turnedAway: number[] = []
  const { enter } = openEntrance<number>({
    begin: (guest) => begun.push(guest),
    turnAway: (guest) => turnedAway.push(guest),
    now: () => time,
  })
  let guests = 0
  return {
    begun,
    turnedAway,
    come(count: number) {
      for (let coming = 0; coming < count; coming++) enter(guests++)
    },
    pass: (ms: number) => {
      time += ms
    },
  }
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index)

test('all who come in one turn are begun together in the next, in order', async () => {
  const door = openDoor()
  door.come(begunInTurn)
  assert.deepEqual(door.begun, [])
  await nextTurn()
  assert.deepEqual(door.begun, upTo(begunInTurn))
})

test('what is too much for one turn is begun in the following ones, in order, and nobody is lost', async () => {
  const door = openDoor()
  door.come(2 * begunInTurn + 1)
  await nextTurn()
  assert.equal(door.begun.length, begunInTurn)
  door.come(1)
  await nextTurn()
  await nextTurn()
  assert.deepEqual(door.begun, upTo(2 * begunInTurn + 2))
  assert.deepEqual(door.turnedAway, [])
})

test('somebody who comes while others are begun is begun as well', async () => {
  const begun: string[] = []
  const entrance = openEntrance<string>({
    turnAway: assert.fail,
    begin(guest) {
      begun.push(guest)
      if (guest === 'first') entrance.enter('second')
    },
  })
  entrance.enter('first')
  await nextTurn()
  await nextTurn()
  assert.deepEqual(begun, ['first', 'second'])
})

test('a queue that is full is turned away as a whole, oldest first, without waiting for its turn', async () => {
  const door = openDoor()
  door.come(waitingAtMost)
  assert.equal(door.turnedAway.length, 0)
  door.come(1)
  assert.deepEqual(door.turnedAway, upTo(waitingAtMost))
  await nextTurn()
  assert.deepEqual(door.begun, [waitingAtMost])
})

test('in a burst everybody waits for a while, and is turned away after it', async () => {
  const door = openDoor()
  door.come(begunInTurn + 1)
  door.pass(burstTimeoutMs)
  await nextTurn()
  assert.deepEqual(door.turnedAway, [])
  door.pass(1)
  await nextTurn()
  assert.deepEqual(door.turnedAway, [begunInTurn])
})

test('in a queue that has not been empty for long, the timeout is short; once it was empty, it is not', async () => {
  const door = openDoor()
  for (let flooded = 0; flooded < 1_000; flooded += 100) {
    door.come(2 * begunInTurn)
    door.pass(100)
    await nextTurn()
  }
  assert.equal(door.turnedAway.length, 0)
  const waiting = 10 * 2 * begunInTurn - door.begun.length
  door.pass(floodTimeoutMs + 1)
  await nextTurn()
  assert.equal(door.turnedAway.length, waiting)
  door.come(1)
  door.pass(floodTimeoutMs + 1)
  await nextTurn()
  assert.equal(door.turnedAway.length, waiting, 'this is a burst again')
})

test('a process that stood still turns nobody away who came since its last turn: they waited for no one', async () => {
  const door = openDoor()
  door.come(begunInTurn)
  door.pass(burstTimeoutMs + 1)
  await nextTurn()
  assert.deepEqual([door.begun, door.turnedAway], [upTo(begunInTurn), []])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { beginsAtOnce, openEntrance, patienceInBurstMs, patienceInFloodMs } from './entrance.ts'

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

test('a few are begun at once, in the turn they come in', () => {
  const door = openDoor()
  door.come(beginsAtOnce)
  assert.deepEqual(door.begun, upTo(beginsAtOnce))
})

test('what is too much for one turn is begun in the next ones, in order, and nobody is lost', async () => {
  const door = openDoor()
  door.come(3 * beginsAtOnce + 1)
  assert.equal(door.begun.length, beginsAtOnce)
  await nextTurn()
  assert.equal(door.begun.length, 2 * beginsAtOnce)
  door.come(1)
  assert.equal(door.begun.length, 2 * beginsAtOnce, 'a newcomer stands behind those who wait')
  await nextTurn()
  await nextTurn()
  assert.deepEqual(door.begun, upTo(3 * beginsAtOnce + 2))
  assert.deepEqual(door.turnedAway, [])
})

test('after any number of quiet turns there is room again', async () => {
  const door = openDoor()
  for (let turn = 0; turn < 3; turn++) {
    door.come(beginsAtOnce)
    await nextTurn()
    await nextTurn()
  }
  assert.equal(door.begun.length, 3 * beginsAtOnce)
})

test('in a burst everybody waits for a while, and is turned away after it', async () => {
  const door = openDoor()
  door.come(beginsAtOnce + 1)
  door.pass(patienceInBurstMs)
  await nextTurn()
  assert.deepEqual(door.turnedAway, [])
  door.come(beginsAtOnce)
  door.pass(patienceInBurstMs + 1)
  await nextTurn()
  assert.deepEqual(door.turnedAway, [2 * beginsAtOnce])
})

test('in a queue that has not been empty for long, patience is short; once it was empty, it is not', async () => {
  const door = openDoor()
  for (let flooded = 0; flooded < 1_100; flooded += 100) {
    door.come(2 * beginsAtOnce)
    door.pass(100)
    await nextTurn()
  }
  assert.deepEqual(door.turnedAway, [])
  door.come(1)
  const waiting = 11 * 2 * beginsAtOnce + 1 - door.begun.length
  door.pass(patienceInFloodMs + 1)
  await nextTurn()
  assert.equal(door.turnedAway.length, waiting)
  door.come(beginsAtOnce + 1)
  door.pass(patienceInFloodMs + 1)
  await nextTurn()
  assert.equal(door.turnedAway.length, waiting, 'this is a burst again')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type LoadWatch, watchLoad } from './overload.ts'

/** A turn in which so many requests were taken and which took so long. */
async function turn(load: LoadWatch, requests: number, ms: number): Promise<void> {
  for (let taken = 0; taken < requests; taken++) load.turnsAway()
  const until = performance.now() + ms
  while (performance.now() < until);
  await wait(1)
}

test('a process whose requests keep it busy for too long turns others away, and soon no more', async () => {
  const load = watchLoad()
  try {
    assert.equal(load.turnsAway(), false)
    await turn(load, 1_000, 600)
    assert.equal(load.turnsAway(), true)
    while (load.turnsAway()) await wait(10)
  } finally {
    load.close()
  }
})

test('a process that stood still for another reason turns nobody away', async () => {
  const load = watchLoad()
  try {
    await turn(load, 10, 600)
    assert.equal(load.turnsAway(), false)
  } finally {
    load.close()
  }
})

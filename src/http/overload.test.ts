import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { watchLoad } from './overload.ts'

function block(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

test('a process that was busy for too long says so, and soon no more', async () => {
  const load = watchLoad()
  try {
    assert.equal(load.isOverloaded, false)
    block(600)
    await new Promise(setImmediate)
    await wait(1)
    assert.equal(load.isOverloaded, true)
    while (load.isOverloaded) await wait(10)
  } finally {
    load.close()
  }
})

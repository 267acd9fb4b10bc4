import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pace } from './pace.ts'

function openPace() {
  let [share, nowMs] = [0, 0]
  const pace = new Pace({ most: 500, least: 100 }, () => share)
  return {
    /** What it says after so many looks at a thread that is busy for this share of its time. */
    after(looks: number, at: number): number {
      share = at
      for (let look = 0; look < looks; look++) {
        nowMs += 50
        pace.mostAt(nowMs)
      }
      return pace.mostAt(nowMs)
    },
  }
}

test('a thread that waits for receivers has more and more under way, up to the most', () => {
  const pace = openPace()
  assert.ok(pace.after(2, 0.4) > 100)
  assert.equal(pace.after(20, 0.4), 500)
})

test('a thread that is busy all the time has less and less under way, down to the least, and more again when it has time', () => {
  const pace = openPace()
  pace.after(20, 0.4)
  assert.ok(pace.after(1, 0.97) < 500)
  assert.equal(pace.after(20, 0.97), 100)
  assert.equal(pace.after(20, 0.5), 500)
})

test('between two looks nothing changes, however often it is asked', () => {
  const pace = new Pace({ most: 500, least: 100 }, () => 0)
  const first = pace.mostAt(1_000)
  for (let asked = 0; asked < 100; asked++) assert.equal(pace.mostAt(1_049), first)
  assert.ok(pace.mostAt(1_050) > first)
})

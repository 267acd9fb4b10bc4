/** What a process remembers of proofs: no proof twice while it would be taken, and no more than so many bytes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from '../../test/support/clock.ts'
import { second } from '../clock.ts'
import { fingerprint } from '../crypto/hash.ts'
import { proofLivesMs } from './dpop.ts'
import { openSpentProofs, type SpentProofs } from './spent-proofs.ts'

const proof = (n: number) => fingerprint(`proof ${n}`)

function spendMany(proofs: SpentProofs, from: number, count: number): number {
  let taken = 0
  for (let n = from; n < from + count; n++) if (proofs.spend(proof(n))) taken += 1
  return taken
}

test('a proof is taken once while it lives, whatever else is taken', () => {
  const clock = new TestClock()
  const proofs = openSpentProofs(clock)
  assert.equal(spendMany(proofs, 0, 1), 1)
  let next = 1
  for (let passedS = 0; passedS < proofLivesMs / second; passedS++) {
    assert.equal(spendMany(proofs, next, 300), 300)
    assert.equal(spendMany(proofs, next, 300), 0)
    next += 300
    clock.advance(second - 1)
    assert.equal(proofs.spend(proof(0)), false, `${passedS} s later`)
  }
  assert.equal(spendMany(proofs, 0, next), 0)
})

test('it is forgotten when it lives no more', () => {
  const clock = new TestClock()
  const proofs = openSpentProofs(clock)
  assert.equal(spendMany(proofs, 0, 20_000), 20_000)
  const full = proofs.bytes
  for (let turns = 0; turns < 4; turns++) {
    clock.advance(proofLivesMs)
    proofs.spend(proof(20_000 + turns))
  }
  assert.ok(proofs.bytes < full / 4, `${proofs.bytes} of ${full}`)
  assert.equal(spendMany(proofs, 0, 20_000), 20_000)
})

test('10,000 a second have room in 64 MiB while they live: an eighth of them in an eighth', () => {
  const clock = new TestClock()
  const proofs = openSpentProofs(clock, { most: 2 ** 20 })
  const perSecond = 1_250
  let mostBytes = 0
  for (let passedS = 0; passedS < 150; passedS++) {
    assert.equal(spendMany(proofs, passedS * perSecond, perSecond), perSecond)
    mostBytes = Math.max(mostBytes, proofs.bytes)
    clock.advance(second)
  }
  assert.ok(mostBytes <= 8 * 2 ** 20, `${mostBytes}`)
  const living = (proofLivesMs / second) * perSecond
  assert.equal(spendMany(proofs, 150 * perSecond - living, living), 0)
})

test('more than there is room for: the oldest are forgotten before their time, never the newest', () => {
  const places = 16_384
  const proofs = openSpentProofs(new TestClock(), { most: places })
  assert.equal(spendMany(proofs, 0, places * 3), places * 3)
  assert.equal(proofs.bytes <= places * 8, true, `${proofs.bytes}`)
  const remembered = places / 4
  assert.equal(spendMany(proofs, places * 3 - remembered, remembered), 0)
  assert.equal(proofs.spend(proof(0)), true)
})

test('a clock that goes back makes nothing forgotten', () => {
  const clock = new TestClock()
  const proofs = openSpentProofs(clock)
  let next = 0
  for (let passedS = 0; passedS < proofLivesMs / second; passedS++) {
    assert.equal(spendMany(proofs, next, 100), 100)
    next += 100
    clock.advance(passedS % 3 === 2 ? -second : second)
  }
  assert.equal(spendMany(proofs, 0, next), 0)
})

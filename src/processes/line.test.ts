import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { TestClock } from '../../test/support/clock.ts'
import { fingerprint } from '../crypto/hash.ts'
import { openLine } from './line.ts'
import type { ChildMessage } from './messages.ts'

test('what is asked in one turn travels together, and each has its answer', async () => {
  const sent: ChildMessage[] = []
  const line = openLine((message) => sent.push(message))
  const tally = line.openTally('tokens', false)
  const answers = [tally.count(7, 'a', 9), tally.count(7, 'b', 9)]
  await turn()
  assert.equal(sent.length, 1)
  line.hear({ kind: 'answer', number: 1, answers: [4, 5] })
  assert.deepEqual(await Promise.all(answers), [4, 5])
})

test('what others count is known before anybody asks', () => {
  const line = openLine(() => {})
  const tally = line.openTally('failures', true)
  assert.equal(tally.isQuiet, true)
  line.hear({ kind: 'tell', counted: [{ limit: 'failures', window: 7, key: 'a', used: 3 }] })
  assert.deepEqual([tally.find(7, 'a'), tally.isQuiet], [3, false])
})

test('proofs that are taken in one turn are told together, and those that others took are taken no more', async () => {
  const [sent, clock] = [[] as ChildMessage[], new TestClock()]
  const line = openLine((message) => sent.push(message))
  const [here, there] = [line.openSpentProofs(clock), openLine(() => {})]
  const proofs = ['a', 'b'].map(fingerprint)
  assert.deepEqual(proofs.map(here.spend), [true, true])
  assert.deepEqual(proofs.map(here.spend), [false, false])
  await turn()
  const [told, ...others] = sent
  assert.ok(told?.kind === 'spent' && told.proofs.length === 2, JSON.stringify(sent))
  assert.deepEqual(others, [])

  const elsewhere = there.openSpentProofs(clock)
  there.hear(JSON.parse(JSON.stringify(told)))
  assert.deepEqual([...proofs, fingerprint('c')].map(elsewhere.spend), [false, false, true])
})

test('a parent that does not answer is not waited for, and a place that it grants too late is given back', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.after(() => mock.timers.reset())
  const sent: ChildMessage[] = []
  const line = openLine((message) => sent.push(message))
  const counted = line.openTally('tokens', false).count(7, 'a', 9)
  const taken = line.openPlaces('streams', 1).take('branch')
  await turn()
  mock.timers.tick(1_000)
  assert.equal(await counted, 1, 'it counts for itself')
  assert.equal(typeof (await taken), 'function')
  line.hear({ kind: 'answer', number: 1, answers: [8, 1] })
  assert.deepEqual(
    sent.slice(1).map(({ kind }) => kind),
    ['leave'],
  )
})

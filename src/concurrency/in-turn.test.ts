import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inTurn } from './in-turn.ts'

test('whoever asks while a run is under way is answered after it, by one that saw what they had noted', async () => {
  const first = Promise.withResolvers<void>()
  const written: string[] = []
  let noted = ['one']
  let runs = 0
  const flush = inTurn(async () => {
    const taken = noted
    noted = []
    if (runs++ === 0) await first.promise
    written.push(...taken)
  })
  const before = flush()
  await Promise.resolve()
  noted.push('two')
  const answered = flush().then(() => [...written])
  first.resolve()
  await before
  assert.deepEqual(await answered, ['one', 'two'])
})

test('a run that fails fails for whoever asked for it alone', async () => {
  let runs = 0
  const flush = inTurn(async () => {
    if (++runs === 1) throw new Error('away')
  })
  const [first, second] = await Promise.allSettled([flush(), flush()])
  assert.equal(first!.status, 'rejected')
  assert.equal(second!.status, 'fulfilled')
})

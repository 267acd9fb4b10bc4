import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFlights } from './single-flight.ts'

test('whoever asks while the same is under way gets its answer; whoever asks after it, another', async () => {
  let begun = 0
  const flights = openFlights(async (_name: string) => ++begun)
  assert.deepEqual(await Promise.all([flights.join('a'), flights.join('b')]), [1, 1])
  assert.equal(await flights.join('c'), 2)
})

test('what has another key is not the same', async () => {
  const begun: string[] = []
  const flights = openFlights(
    async (name: string) => begun.push(name),
    (name) => name,
  )
  await Promise.all([flights.join('a'), flights.join('b'), flights.join('a')])
  assert.deepEqual(begun, ['a', 'b'])
})

test('a failure is the answer to all who joined, and the next begins anew', async () => {
  let begun = 0
  const flights = openFlights(async () => {
    if (++begun === 1) throw new Error('away')
    return begun
  })
  const joined = await Promise.allSettled([flights.join(), flights.join()])
  assert.deepEqual(
    joined.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(await flights.join(), 2)
})

test('landed waits for what is under way and does not mind how it ends', async () => {
  const gate = Promise.withResolvers<void>()
  const flights = openFlights(() => gate.promise)
  const joined = assert.rejects(flights.join(), /lost/)
  let hasLanded = false
  const landed = flights.landed().then(() => {
    hasLanded = true
  })
  await Promise.resolve()
  assert.equal(hasLanded, false)
  gate.reject(new Error('lost'))
  await Promise.all([joined, landed])
  await flights.landed()
})

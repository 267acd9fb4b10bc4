import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openBatch } from './batch.ts'
import { DatabaseUnavailable } from './database.ts'

interface Item {
  readonly key: string
  readonly value: number
}

/** A database whose statements end when the test says so. */
function openStage(options: { maxItems?: number; maxInFlight?: number; maxWaiting?: number } = {}) {
  const statements: { items: Item[]; end: (fail?: boolean) => void }[] = []
  let started: () => void = () => {}
  const batch = openBatch<Item, string>(
    (items) =>
      new Promise((resolve, reject) => {
        const answers = items.map((item) => `${item.key}=${item.value}`)
        statements.push({ items, end: (fail) => (fail ? reject(new Error('refused')) : resolve(answers)) })
        started()
      }),
    { keyOf: (item) => item.key, ...options },
  )
  const nextStatement = () => new Promise<void>((resolve) => (started = resolve))
  return { batch, statements, nextStatement }
}

test('a lone item is sent at once, alone', async () => {
  const { batch, statements, nextStatement } = openStage()
  const sent = nextStatement()
  const answer = batch.run({ key: 'a', value: 1 })
  await sent
  assert.deepEqual(statements[0]!.items, [{ key: 'a', value: 1 }])
  statements[0]!.end()
  assert.equal(await answer, 'a=1')
})

test('newcomers gather while statements are under way and leave together', async () => {
  const { batch, statements, nextStatement } = openStage({ maxInFlight: 1 })
  let sent = nextStatement()
  const first = batch.run({ key: 'first', value: 0 })
  await sent
  const gathered = Array.from({ length: 10 }, (_, value) => batch.run({ key: `k${value}`, value }))
  sent = nextStatement()
  statements[0]!.end()
  await first
  await sent
  assert.equal(statements[1]!.items.length, 10)
  statements[1]!.end()
  assert.equal((await Promise.all(gathered)).at(-1), 'k9=9')
})

test('a statement that fails fails for its own items only, and the next one is sent', async () => {
  const { batch, statements, nextStatement } = openStage({ maxInFlight: 1 })
  let sent = nextStatement()
  const doomed = Promise.allSettled([batch.run({ key: 'a', value: 1 }), batch.run({ key: 'b', value: 2 })])
  await sent
  const later = batch.run({ key: 'a', value: 3 })
  sent = nextStatement()
  statements[0]!.end(true)
  assert.deepEqual(
    (await doomed).map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  await sent
  statements[1]!.end()
  assert.equal(await later, 'a=3')
})

test('what cannot even be begun is told to its own items, and the next one is sent', async () => {
  let isWrong = true
  const batch = openBatch<number, number>(
    (items) => {
      if (isWrong) throw new Error('it cannot be printed')
      return Promise.resolve([...items])
    },
    { maxItems: 10, maxInFlight: 1, keyOf: String },
  )
  await assert.rejects(batch.run(1), /it cannot be printed/)
  isWrong = false
  assert.equal(await batch.run(2), 2)
})

test('whatever arrives: everyone gets their own answer, equal keys never share a statement and keep their order', async () => {
  const items = fc.array(fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd'), value: fc.nat() }), {
    maxLength: 60,
  })
  const limits = fc.record({
    maxItems: fc.integer({ min: 1, max: 8 }),
    maxInFlight: fc.integer({ min: 1, max: 3 }),
  })
  await fc.assert(
    fc.asyncProperty(items, limits, fc.array(fc.nat()), async (all, { maxItems, maxInFlight }, turns) => {
      const seen: Item[][] = []
      let inFlight = 0
      const batch = openBatch<Item, Item>(
        async (taken) => {
          seen.push(taken)
          inFlight++
          assert.ok(inFlight <= maxInFlight)
          for (let turn = (turns[seen.length % (turns.length || 1)] ?? 0) % 4; turn > 0; turn--) {
            await new Promise((resolve) => setImmediate(resolve))
          }
          inFlight--
          return taken
        },
        { keyOf: (item) => item.key, maxItems, maxInFlight },
      )
      const answers = await Promise.all(all.map((item) => batch.run(item)))
      assert.deepEqual(answers, all)
      for (const taken of seen) {
        assert.ok(taken.length >= 1 && taken.length <= maxItems)
        assert.equal(new Set(taken.map((item) => item.key)).size, taken.length)
      }
      for (const key of ['a', 'b', 'c', 'd']) {
        const ofKey = (list: Item[]) => list.filter((item) => item.key === key)
        assert.deepEqual(ofKey(seen.flat()), ofKey(all))
      }
    }),
  )
})

test('when too much waits, newcomers are turned away at once, and let in again when it has left', async () => {
  const { batch, statements, nextStatement } = openStage({ maxWaiting: 2 })
  let sent = nextStatement()
  const answers = [batch.run({ key: 'a', value: 1 })]
  await sent
  answers.push(batch.run({ key: 'b', value: 2 }), batch.run({ key: 'c', value: 3 }))
  await assert.rejects(batch.run({ key: 'd', value: 4 }), DatabaseUnavailable)
  sent = nextStatement()
  statements[0]!.end()
  await sent
  answers.push(batch.run({ key: 'e', value: 5 }))
  sent = nextStatement()
  statements[1]!.end()
  await sent
  statements[2]!.end()
  assert.deepEqual(await Promise.all(answers), ['a=1', 'b=2', 'c=3', 'e=5'])
})

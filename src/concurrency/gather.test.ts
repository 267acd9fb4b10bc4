import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openGathering } from './gather.ts'

test('what is asked for in one moment is looked up together, each once', async () => {
  const asked: (readonly number[])[] = []
  const find = openGathering(async (keys: readonly number[]) => {
    asked.push(keys)
    return (key) => key * 10
  })
  assert.deepEqual(await Promise.all([find(1), find(2), find(1)]), [10, 20, 10])
  assert.deepEqual(asked, [[1, 2]])
})

test('a look-up that fails, or cannot even be begun, fails for those that asked, and for no others', async () => {
  let fault: 'late' | 'at once' | undefined = 'late'
  const find = openGathering((keys: readonly number[]): Promise<(key: number) => number> => {
    if (fault === 'at once') throw new Error(`not ${keys[0]}`)
    return fault ? Promise.reject(new Error(`not ${keys[0]}`)) : Promise.resolve((key: number) => key)
  })
  await assert.rejects(find(1), /not 1/)
  fault = 'at once'
  await assert.rejects(find(2), /not 2/)
  fault = undefined
  assert.equal(await find(3), 3)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRerun } from './rerun.ts'

const unexpected = (error: unknown) => assert.fail(error as Error)

test('never two runs at once; all who call during one are answered by one more', async () => {
  let runs = 0
  let atOnce = 0
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const rerun = openRerun(async () => {
    assert.equal(++atOnce, 1)
    await gates[runs++]!.promise
    atOnce--
  }, unexpected)
  rerun.call()
  rerun.call()
  rerun.call()
  gates[0]!.resolve()
  gates[1]!.resolve()
  await rerun.ended()
  assert.equal(runs, 2)
})

test('after every call a run begins, in whatever moment the call comes', async () => {
  for (let moment = 0; moment < 12; moment++) {
    let runs = 0
    const rerun = openRerun(async () => void runs++, unexpected)
    rerun.call()
    for (let turn = 0; turn < moment; turn++) await Promise.resolve()
    const before = runs
    rerun.call()
    await rerun.ended()
    assert.ok(runs > before, `called ${moment} turns after the first`)
  }
})

test('a failure is told, ends the runs, and the next call begins anew', async () => {
  const told: unknown[] = []
  let runs = 0
  const rerun = openRerun(
    async () => {
      if (++runs === 1) throw new Error('away')
    },
    (error) => told.push((error as Error).message),
  )
  rerun.call()
  rerun.call()
  await rerun.ended()
  assert.deepEqual([runs, told], [1, ['away']])
  rerun.call()
  await rerun.ended()
  assert.equal(runs, 2)
})

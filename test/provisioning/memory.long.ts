/** However long a file is, a node holds a batch or two of it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { readImport, startImport } from '../../src/provisioning/import.ts'
import { openHouse } from '../support/gateway.ts'

const house = await openHouse()
const { db } = house.gateway.context

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** Of a file with so many customers; what was kept of each would be some two hundred bytes. */
const customers = 120_000
const keptAtMost = 4 * 1024 ** 2

async function* makeFile(): AsyncGenerator<Buffer> {
  for (let n = 0; n < customers; n += 500)
    yield Buffer.from(
      Array.from({ length: 500 }, (_, place) => {
        const key = n + place
        return `{"kind":"customer","externalId":"C${key}","name":"Customer ${key}","email":"c${key}@example.com","version":1}\n`
      }).join(''),
    )
}

test('what an import holds in memory does not grow with the file', async (t) => {
  const draft = { source: 'core', environment: 'live', mode: 'changes', dryRun: false } as const
  const started = await startImport(db, draft, house.act())
  const held: number[] = []
  const progress = ({ lines }: { lines: number }) => {
    if (lines !== customers / 4 && lines !== customers) return
    collect()
    held.push(process.memoryUsage().heapUsed)
  }
  const read = await readImport(db, started, makeFile(), { act: () => house.act(), progress })
  assert.equal(read.created, customers)
  const [early, late] = held as [number, number]
  t.diagnostic(`${Math.round(early / 1024)} KiB after a quarter, ${Math.round(late / 1024)} KiB at the end`)
  assert.ok(late - early < keptAtMost, `${late - early} bytes more`)
})

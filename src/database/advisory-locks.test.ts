import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { advisoryLocks } from './advisory-locks.ts'

test('every advisory lock has a number of its own, and nobody names a number but the table', () => {
  const numbers: readonly number[] = Object.values(advisoryLocks)
  assert.equal(new Set(numbers).size, numbers.length)
  const files = ['src', 'migrations'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  )
  const named = files
    .filter((name) => /\.(ts|sql)$/.test(name) && !name.includes('advisory-locks'))
    .flatMap((name) =>
      [...readFileSync(name, 'utf8').matchAll(/advisory\w*lock\w*\((\d[\d_]*)/g)].map(([, number]) =>
        Number(number),
      ),
    )
  assert.deepEqual(named.sort(), [advisoryLocks.openDay, advisoryLocks.publishers])
})

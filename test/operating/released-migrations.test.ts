/**
 * A migration that a release has had is never changed: databases of that release refuse another text. The
 * list is what `cd migrations && sha256sum *.sql` prints at a release, and is empty until the first.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readMigrations } from '../../src/database/migrations.ts'

const list = readFileSync(new URL('released-migrations.txt', import.meta.url), 'utf8')
const released = list
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => /^(?<checksum>[0-9a-f]{64}) {2}(?<name>\d{4}-[a-z-]+\.sql)$/.exec(line)?.groups ?? { line })

test('every migration that was released is as it was, and those that were not come after them', () => {
  const migrations = readMigrations().map(({ name, checksum }) => ({ checksum, name }))
  assert.deepEqual(
    released.map((each) => ({ ...each })),
    migrations.slice(0, released.length),
  )
})

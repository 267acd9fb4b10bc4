/** People and requests are found by an index, whatever plan is kept and however many there are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { searchRequest } from '../../../src/audit/entry-search.sql.ts'
import { findRequest } from '../../../src/audit/entry-search.ts'
import { selectNamed } from '../../../src/users/user-search.sql.ts'
import { findUsers } from '../../../src/users/user-search.ts'
import { openEngine } from '../../support/engine.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { withLenientDatabase } from '../../support/lenient-engine.ts'
import { type Looks, openLookingDatabase } from '../../support/plans.ts'

const engine = await withLenientDatabase(await keepOpen(openEngine({ ROLES: 'api' })))
await engine.sql(
  `INSERT INTO users (id, username, name, email, password_hash, role, created_at, updated_at)
   SELECT 'id-' || lpad(n::text, 12, '0'), 'holder-' || n, 'Holder ' || n, 'Holder-' || n || '@example.com', 'none', 'holder', now(), now()
     FROM generate_series(1, 20000) n`,
)
await engine.sql(
  `INSERT INTO audit_entries (at, actor, action, subject, environment, request_id, details)
   SELECT now(), 'user:x', CASE n % 3 WHEN 0 THEN 'token.refreshed' ELSE 'user.created' END, 'user:' || n, 'live', 'r-' || n, '{}'
     FROM generate_series(1, 20000) n`,
)

test('an e-mail address and a request are found without reading a table, whatever was counted last', async () => {
  for (const isCounted of [false, true]) {
    if (isCounted) await engine.sql('ANALYZE')
    const looks: Looks = new Map()
    const db = await openLookingDatabase(engine.db, looks)
    const { users } = await findUsers(db, { text: 'holder-15000@Example.com' }, 10)
    assert.deepEqual(
      users.map(({ username }) => username),
      ['holder-15000'],
    )
    assert.deepEqual(await findUsers(db, { text: 'holder-15000@example.com', after: 'holder-15000' }, 10), {
      users: [],
      after: undefined,
    })
    const [entry] = await findRequest(db, 'r-10000', 10)
    assert.equal(entry?.subject, 'user:10000')
    const byEmail = looks.get(selectNamed.name)!
    assert.ok(byEmail.indexes.has('users_by_email'), [...byEmail.indexes].join(' '))
    const byRequest = looks.get(searchRequest.name)!
    assert.ok(byRequest.indexes.has('audit_entries_by_request'), [...byRequest.indexes].join(' '))
    assert.ok(byRequest.pages < 100, `${byRequest.pages} pages`)
    for (const [name, { readWhole }] of looks)
      assert.deepEqual(
        [...readWhole].filter((table) => ['users', 'audit_entries'].includes(table)),
        [],
        name,
      )
  }
})

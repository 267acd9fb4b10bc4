/**
 * One batch on the PostgreSQL that the system has, an older release than npm's and with a compiler of plans: what the sessions of a gateway rely on, they have there too.
 * Skipped where none is installed.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { statement } from '../../../src/database/database.ts'
import { announceServer, openSystemTestServer } from '../../support/database.ts'
import { openPatiently } from '../../support/patiently.ts'
import { findSystemPostgres } from '../../support/system-postgres.ts'
import { together } from '../../support/together.ts'

const programs = findSystemPostgres()

const selectCompiled = statement(
  '',
  `SELECT count(*) AS statements, count(*) FILTER (WHERE jit_functions > 0) AS compiled,
     (array_agg(left(query, 200)) FILTER (WHERE jit_functions > 0))[:3] AS examples FROM pg_stat_statements`,
)

if (programs) {
  const server = await openSystemTestServer(programs)
  announceServer(server)
  after(() => server.close())
  together(
    'test/delivery/[a-q]*.test.ts',
    'test/operating/doctor.test.ts',
    'test/provisioning/*.test.ts',
    'src/database/session.test.ts',
  )

  test('no plan was compiled', async (t) => {
    const db = openPatiently({ connectionString: server.url, connections: 1 })
    t.after(() => db.close())
    const [counted] = await db.query<{ statements: number; compiled: number; examples: string[] | null }>(
      selectCompiled,
    )
    assert.ok(counted!.statements > 500, `${counted!.statements} statements`)
    assert.deepEqual(counted!.examples ?? [], [])
  })
} else test('a batch of tests on the PostgreSQL of the system', { skip: 'none is installed here' }, () => {})

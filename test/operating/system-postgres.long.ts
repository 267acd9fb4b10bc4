/**
 * Some tests once more, on the PostgreSQL that the system has, an older release than npm's and with a compiler of plans:
 * what the sessions of a gateway rely on, they have there too. Skipped where none is installed.
 */

import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { systemClock } from '../../src/clock.ts'
import { examine } from '../../src/doctor/doctor.ts'
import { readConfig } from '../../src/settings/config.ts'
import { ask } from '../support/ask.ts'
import { announceServer, openSystemTestServer, openTestDatabase } from '../support/database.ts'
import { openTestGateway } from '../support/gateway.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { findSystemPostgres } from '../support/system-postgres.ts'

const programs = findSystemPostgres()

/** In this process, one after the other: they find the server that it announced. */
function runFiles(...patterns: readonly string[]): void {
  for (const file of globSync(patterns).sort())
    test(file, async () => {
      await import(pathToFileURL(resolve(file)).href)
    })
}

const selectCompiled = `SELECT count(*) AS statements, (array_agg(left(query, 300)) FILTER (WHERE jit_functions > 0))[:3] AS
    compiled FROM pg_stat_statements`
const provision = 'SELECT public.provision($1, $2, $3)'

async function runHere(folder: string): Promise<void> {
  const server = await openSystemTestServer(folder)
  announceServer(server)
  after(() => server.close())
  runFiles('test/delivery/[a-q]*.test.ts', 'test/provisioning/*.test.ts', 'src/database/session.test.ts')

  test('the core speaks to it in a session with the defaults of the server', async (t) => {
    const database = await openTestDatabase()
    const core = openLenientDatabase({ connectionString: database.url, connections: 1 })
    t.after(() => core.close().then(database.close))
    await core.script("SELECT set_source_role('core', session_user, true)")
    await core.script('RESET ALL')
    const customer = { kind: 'customer', externalId: 'C-1', name: 'Ada Lovelace', version: 1 }
    const account = { kind: 'account', externalId: 'A-1', number: '10001', type: 'cash', version: 1 }
    const holding = { kind: 'holding', customer: 'C-1', account: 'A-1', role: 'owner', version: 1 }
    for (const record of [customer, account, holding])
      await ask(core, provision, ['live', 'core', JSON.stringify(record)])
  })

  test('a gateway runs on it, and the doctor finds it well', async (t) => {
    const house = await openTestGateway()
    t.after(() => house.close())
    const results = await examine(() => readConfig(house.settings), systemClock)
    for (const check of ['database', 'schema', 'numbering', 'deliveries', 'promises'])
      assert.equal(
        results.find((each) => each.check === check)?.state,
        'ok',
        JSON.stringify(results, null, 1),
      )
  })

  test('no plan was compiled', async (t) => {
    const db = openLenientDatabase({ connectionString: server.url, connections: 1 })
    t.after(() => db.close())
    const [counted] = await ask<{ statements: number; compiled: string[] | null }>(db, selectCompiled)
    assert.ok(counted!.statements > 500, `${counted!.statements} statements`)
    assert.deepEqual(counted!.compiled ?? [], [])
  })
}

if (programs) await runHere(programs)
else test('tests on the PostgreSQL of the system', { skip: 'none is installed here' }, () => {})

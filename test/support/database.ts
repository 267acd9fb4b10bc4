/**
 * One real PostgreSQL for the whole test run; each file gets a database of its own, cloned from a migrated
 * template.
 */

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '../../src/database/migrations.ts'
import { openPrivateServer } from '../../src/database/private-server.ts'
import { openDaysAhead } from '../../src/webhooks/events/days.ts'
import { ask } from './ask.ts'
import { atDatabase, citusUrl, cloneDatabase, closeTemplate, createDatabase, dropDatabase } from './citus.ts'
import { TestClock } from './clock.ts'
import { withCluster } from './copied-cluster.ts'
import { newFolder } from './folder.ts'
import { openLenientDatabase } from './lenient-database.ts'
import { openSystemServer } from './system-postgres.ts'

const variable = 'COUNTERSIGN_TEST_SERVER'
const template = 'countersign_template'

/**
 * The server lives as long as the run: nothing of it has to survive a power cut. And nobody works on the
 * tables unasked, at a time of their own choosing: what a test measures, and which locks it meets, is the
 * same on a busy machine. What has to hold in spite of either is tested on servers of its own.
 */
const forTheRun = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  autovacuum: 'off',
  checkpoint_timeout: '1h',
  max_wal_size: '4GB',
}

export interface TestServer {
  readonly url: string
  close(): Promise<void>
}

/**
 * With `durable`, as it is in production, and on a disk. Of `connections` it has at least so many for
 * gateways.
 */
export async function openTestServer({ durable = false, connections = 0 } = {}): Promise<TestServer> {
  if (citusUrl !== undefined) return openCitus(citusUrl)
  const dataDir = await withCluster(
    durable ? mkdtempSync(join(tmpdir(), 'countersign-test-')) : newFolder('test'),
  )
  const searchPath = process.env.PATH ?? ''
  const server = await openPrivateServer({ dataDir, purpose: 'serve', searchPath, connections })
  if (!durable) await adjust(server.connectionString)
  await runAlone(
    server.connectionString,
    `CREATE DATABASE ${template} TEMPLATE countersign STRATEGY file_copy`,
  )
  await prepareTemplate(server.connectionString)
  return {
    url: server.connectionString,
    async close() {
      await server.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

async function openCitus(url: string): Promise<TestServer> {
  await dropDatabase(url, template)
  await createDatabase(url, template)
  await prepareTemplate(url)
  await closeTemplate(url, template)
  return { url, close: () => dropDatabase(url, template) }
}

/**
 * A server that the system has installed, in the same way. It counts statements, and what it compiled of
 * them.
 */
export async function openSystemTestServer(programs: string): Promise<TestServer> {
  const counting = { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.track': 'all' }
  const server = await openSystemServer(programs, { ...forTheRun, ...counting, max_connections: '300' })
  const url = server.url.replace('/postgres?', '/countersign?')
  await runAlone(server.url, 'CREATE DATABASE countersign')
  await runAlone(url, 'CREATE EXTENSION pg_stat_statements')
  await runAlone(url, `CREATE DATABASE ${template}`)
  await prepareTemplate(url)
  return { url, close: server.close }
}

async function prepareTemplate(serverUrl: string): Promise<void> {
  const db = openLenientDatabase({ connectionString: withDatabase(serverUrl, template), connections: 1 })
  await migrate(db)
  // The day on which every clock of a test begins; each house would take longer to open it than to be given
  // it.
  await openDaysAhead(db, new TestClock().now())
  await db.close()
}

export interface TestDatabase {
  readonly url: string
  close(): Promise<void>
}

/** With `empty`, a database without any schema. */
export async function openTestDatabase({ empty = false } = {}): Promise<TestDatabase> {
  const shared = process.env[variable]
  const own = shared === undefined ? await openTestServer() : undefined
  const serverUrl = shared ?? own!.url
  const name = `t_${randomBytes(8).toString('hex')}`
  if (citusUrl !== undefined) {
    await (empty ? createDatabase(serverUrl, name) : cloneDatabase(serverUrl, template, name))
    return { url: atDatabase(serverUrl, name), close: () => dropDatabase(serverUrl, name) }
  }
  await runAlone(
    serverUrl,
    `CREATE DATABASE ${name}${empty ? '' : ` TEMPLATE ${template} STRATEGY file_copy`}`,
  )
  return {
    url: withDatabase(serverUrl, name),
    async close() {
      await runAlone(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`)
      await own?.close()
    },
  }
}

export function announceServer(server: TestServer): void {
  process.env[variable] = server.url
}

async function adjust(url: string): Promise<void> {
  for (const [name, value] of Object.entries(forTheRun))
    await runAlone(url, `ALTER SYSTEM SET ${name} = '${value}'`)
  await runAlone(url, 'SELECT pg_reload_conf()')
}

async function runAlone(url: string, text: string): Promise<void> {
  const db = openLenientDatabase({ connectionString: url, connections: 1 })
  try {
    await ask(db, text)
  } finally {
    await db.close()
  }
}

function withDatabase(url: string, name: string): string {
  return citusUrl === undefined ? url.replace(/\/countersign\?/, `/${name}?`) : atDatabase(url, name)
}

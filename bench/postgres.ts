/** A PostgreSQL of the same kind as the gateway's, for whoever stands beside it. */

import { type Database, openDatabase } from '../src/database/database.ts'
import { openPrivateServer } from '../src/database/private-server.ts'
import { ask } from '../test/support/ask.ts'
import { findSystemPostgres, openSystemServer } from '../test/support/system-postgres.ts'
import { readParent } from './costs/processor-time.ts'
import type { Stage } from './stage.ts'

export async function startPostgres(stage: Stage): Promise<string> {
  const server = await openPrivateServer({
    dataDir: stage.makeFolder(),
    purpose: 'serve',
    searchPath: process.env.PATH ?? '',
  })
  stage.owns(() => server.close())
  return server.connectionString
}

interface NamedServer {
  /** What the rows of a table are called by. */
  readonly name: string
  readonly url: string
}

/**
 * The gateway's own kind and, where one is installed, the system's: an older release, with a compiler of
 * plans. Both count statements.
 */
export async function startEachPostgres(stage: Stage): Promise<readonly NamedServer[]> {
  const programs = findSystemPostgres()
  const servers = [{ name: '', url: await startCounting(stage) }]
  if (!programs) process.stderr.write("  The system has no PostgreSQL: npm's alone is measured.\n")
  else servers.push({ name: ", the system's PostgreSQL", url: await startSystems(stage, programs) })
  for (const { url } of servers) await runOn(url, 'CREATE EXTENSION pg_stat_statements')
  return servers
}

const counter = { shared_preload_libraries: 'pg_stat_statements' }

async function startSystems(stage: Stage, programs: string): Promise<string> {
  const server = await openSystemServer(programs, counter)
  stage.owns(() => server.close())
  await runOn(server.url, 'CREATE DATABASE countersign')
  return server.url.replace('/postgres?', '/countersign?')
}

/** What is preloaded, a server knows before it starts. */
async function startCounting(stage: Stage): Promise<string> {
  const dataDir = stage.makeFolder()
  const options = { dataDir, purpose: 'serve', searchPath: process.env.PATH ?? '' } as const
  const first = await openPrivateServer(options)
  await runOn(
    first.connectionString,
    `ALTER SYSTEM SET shared_preload_libraries = '${counter.shared_preload_libraries}'`,
  )
  await first.close()
  const server = await openPrivateServer(options)
  stage.owns(() => server.close())
  return server.connectionString
}

async function runOn(connectionString: string, text: string): Promise<void> {
  const db = openDatabase({ connectionString, connections: 1 })
  await db.script(text)
  await db.close()
}

const selectBackend = 'SELECT pg_backend_pid() AS pid'

/** The process from which those of all connections come. */
export async function findPostgresPid(db: Database): Promise<number> {
  const [backend] = await ask<{ pid: number }>(db, selectBackend)
  return readParent(backend!.pid)
}

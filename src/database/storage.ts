/**
 * Opens the database that the configuration names, migrated and ready: the private server, or DATABASE_URL.
 */

import { setTimeout as wait } from 'node:timers/promises'
import type { Config } from '../settings/config.ts'
import { wantedConnections } from '../settings/share.ts'
import { hasCluster } from './cluster.ts'
import { type Database, DatabaseUnavailable, openDatabase } from './database.ts'
import { inspectSchema, isMigrated, migrate, readMigrations, type SchemaState } from './migrations.ts'
import type { PrivateServer } from './private-server.ts'
import { statementLimitMs } from './statement-limit.ts'

export interface Storage {
  readonly db: Database
  /**
   * Connections of their own, for answers that go on: however many there are, all other requests have theirs.
   */
  readonly streamDb: Database
  readonly migrated: readonly string[]
  close(): Promise<void>
}

const visitTimeoutMs = 30_000

/**
 * `parent` keeps the private server for several processes, and asks little itself; `child` is one of them.
 * `look` changes nothing, and migrates nothing.
 */
type Purpose = 'serve' | 'parent' | 'child' | 'visit' | 'look'

const parentPools = { databaseConnections: 2, streamConnections: 1 }

export async function openStorage(
  config: Config,
  purpose: Purpose,
  log: (message: string) => void = () => {},
  timeoutMs = statementLimitMs,
): Promise<Storage> {
  const deadline = performance.now() + visitTimeoutMs
  for (;;) {
    try {
      return await open(config, purpose, log, timeoutMs)
    } catch (error) {
      // The server that a visitor joined may be on its way out, because the visitor who started it has left.
      const leaving =
        isVisit(purpose) && config.databaseUrl === undefined && error instanceof DatabaseUnavailable
      if (!leaving || performance.now() > deadline) throw error
      await wait(50)
    }
  }
}

/** The server as it stands: nothing on it is made or migrated. */
export function visitServer(config: Config): Promise<Pick<PrivateServer, 'connectionString' | 'close'>> {
  return openServer(config, 'look', () => {})
}

async function open(
  config: Config,
  purpose: Purpose,
  log: (message: string) => void,
  timeoutMs: number,
): Promise<Storage> {
  const { connectionString, close: leave } = await openServer(config, purpose, log)
  // Commands may take their time.
  const answerTimeoutMs = isVisit(purpose) ? undefined : timeoutMs
  const limits = { connectTimeoutMs: timeoutMs, answerTimeoutMs, isReadOnly: purpose === 'look' }
  const { databaseConnections, streamConnections } = purpose === 'parent' ? parentPools : config

  const db = openDatabase({ connectionString, connections: Math.max(2, databaseConnections), ...limits })
  const streamDb = openDatabase({ connectionString, connections: streamConnections, ...limits })
  const close = async () => {
    await streamDb.close()
    await db.close()
    await leave()
  }
  try {
    // A visitor's connection keeps the server that it joined from leaving.
    const isCurrent = await isMigrated(db)
    if (!isCurrent && purpose === 'look') throw new Error(printBehind(await inspectSchema(db)))
    const migrated = isCurrent ? [] : await migrateAlone(connectionString, config.parts)
    return { db, streamDb, migrated, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Loads nothing of the bundled server where the operator has given a database, which is left as it is. */
async function openServer(
  config: Config,
  purpose: Purpose,
  log: (message: string) => void,
): Promise<Pick<PrivateServer, 'connectionString' | 'close'>> {
  const { dataDir, searchPath, databaseUrl } = config
  if (databaseUrl !== undefined) return { connectionString: databaseUrl, close: async () => {} }
  const { joinPrivateServer, openPrivateServer } = await import('./private-server.ts')
  if (purpose === 'child') return joinPrivateServer(dataDir)
  if (purpose === 'look' && !hasCluster(dataDir))
    throw new Error(
      `There is no database in ${dataDir} yet. Start the gateway first, or set DATA_DIR or DATABASE_URL.`,
    )
  const stay = isVisit(purpose) ? 'visit' : 'serve'
  return openPrivateServer({
    dataDir,
    purpose: stay,
    searchPath,
    log,
    connections: wantedConnections(config),
  })
}

const isVisit = (purpose: Purpose) => purpose === 'visit' || purpose === 'look'

function printBehind(schema: SchemaState): string {
  const found =
    schema.kind === 'behind' ? `has schema ${schema.version} of ${schema.wanted}` : 'has no tables yet'
  return `The database ${found}, and this command changes nothing. Run "countersign migrate", or start the gateway.`
}

/** On a connection that may take its time. */
async function migrateAlone(connectionString: string, parts: number): Promise<string[]> {
  const db = openDatabase({ connectionString, connections: 1 })
  try {
    return await migrate(db, readMigrations(), parts)
  } finally {
    await db.close()
  }
}

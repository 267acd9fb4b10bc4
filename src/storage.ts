/** Opens the database that the configuration names, migrated and ready: the private server, or DATABASE_URL. */
import type { Config } from './config.ts'
import { type Database, openDatabase } from './database/database.ts'
import { migrate } from './database/migrations.ts'
import { openPrivateServer } from './database/private-server.ts'

export interface Storage {
  readonly db: Database
  readonly migrated: readonly string[]
  close(): Promise<void>
}

export async function openStorage(
  config: Config,
  purpose: 'serve' | 'visit',
  log: (message: string) => void = () => {},
): Promise<Storage> {
  const { dataDir, searchPath } = config
  const server =
    config.databaseUrl === undefined ? await openPrivateServer({ dataDir, purpose, searchPath, log }) : undefined
  const db = openDatabase({
    connectionString: server?.connectionString ?? config.databaseUrl!,
    connections: config.databaseConnections,
  })
  const close = async () => {
    await db.close()
    await server?.close()
  }
  try {
    return { db, migrated: await migrate(db), close }
  } catch (error) {
    await close()
    throw error
  }
}

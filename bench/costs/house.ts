/**
 * The gateway under test, taken apart so that each part's processor time can be read: one PostgreSQL, a node
 * that answers, and a node that delivers, which is there only while it is wanted.
 */
import { join } from 'node:path'
import { openVault, type Vault } from '../../src/crypto/vault.ts'
import { type Database, openDatabase } from '../../src/database/database.ts'
import { findFreePort } from '../../test/support/ports.ts'
import { findPostgresPid, startPostgres } from '../postgres.ts'
import { startServer } from '../server-process.ts'
import type { Stage } from '../stage.ts'

export interface Node {
  readonly pid: number
  readonly origin: string
  readonly internal: string
}

export interface House {
  readonly db: Database
  readonly vault: Vault
  readonly postgresPid: number
  startNode(stage: Stage, role: 'api' | 'worker' | 'api,worker'): Promise<Node>
}

export async function openHouse(stage: Stage): Promise<House> {
  const dataDir = stage.makeFolder()
  const keyFile = join(dataDir, 'secret.keys')
  const vault = openVault({ kind: 'file', path: keyFile })
  const connectionString = await startPostgres(stage)
  const db = openDatabase({ connectionString })
  stage.owns(() => db.close())
  return {
    db,
    vault,
    postgresPid: await findPostgresPid(db),
    async startNode(owner, role) {
      const port = await findFreePort()
      const origin = `http://127.0.0.1:${port}`
      const internalPort = await findFreePort()
      const env = {
        HOST: '127.0.0.1',
        PORT: String(port),
        SANDBOX_PORT: String(await findFreePort()),
        INTERNAL_PORT: String(internalPort),
        DATA_DIR: dataDir,
        DATABASE_URL: connectionString,
        SECRET_KEY_FILE: keyFile,
        ROLES: role,
        LOG_LEVEL: 'warn',
        RATE_LIMIT_PER_MINUTE: '0',
        WEBHOOK_ALLOW_LOOPBACK: 'true',
      }
      const program = new URL('../../bin/countersign.js', import.meta.url)
      const pid = await startServer(owner, { program, args: ['serve'], env, origin, readyPath: '/readyz' })
      return { pid, origin, internal: `http://127.0.0.1:${internalPort}` }
    },
  }
}

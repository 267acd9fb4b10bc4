/** The gateway under test: the real one, as `countersign serve` starts it, with its private PostgreSQL. */
import { join } from 'node:path'
import { openVault, type Vault } from '../src/crypto/vault.ts'
import { type Database, openDatabase } from '../src/database/database.ts'
import { findFreePort } from '../test/support/ports.ts'
import { type Brokerage, fillBrokerage } from './brokerage.ts'
import { startServer } from './server-process.ts'
import type { Stage } from './stage.ts'

export interface GatewayUnderTest {
  readonly origin: string
  readonly pid: number
  readonly db: Database
  readonly vault: Vault
}

/** With a thousand account holders. */
export async function startGateway(stage: Stage): Promise<GatewayUnderTest & Brokerage> {
  const gateway = await startEmptyGateway(stage)
  return { ...gateway, ...(await fillBrokerage(gateway.db, gateway.vault)) }
}

export async function startEmptyGateway(stage: Stage, dataDir = stage.makeFolder()): Promise<GatewayUnderTest> {
  const port = await findFreePort()
  const origin = `http://127.0.0.1:${port}`
  const pid = await startServer(stage, {
    program: new URL('../src/cli/main.ts', import.meta.url),
    args: ['serve'],
    env: {
      HOST: '127.0.0.1',
      PORT: String(port),
      SANDBOX_PORT: String(await findFreePort()),
      DATA_DIR: dataDir,
      LOG_LEVEL: 'warn',
      RATE_LIMIT_PER_MINUTE: '0',
      WEBHOOK_ALLOW_LOOPBACK: 'true',
    },
    origin,
    readyPath: '/readyz',
  })
  const socketFolder = encodeURIComponent(join(dataDir, 'postgres', 'socket'))
  const db = openDatabase({ connectionString: `postgresql://countersign@/countersign?host=${socketFolder}` })
  stage.owns(() => db.close())
  return { origin, pid, db, vault: openVault({ kind: 'file', path: join(dataDir, 'secret.keys') }) }
}

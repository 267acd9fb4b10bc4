/** The gateway under test: the real one, as `countersign serve` starts it, with its private PostgreSQL. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { makeKeyFile, type Vault } from '../src/crypto/vault.ts'
import { type Database, openDatabase } from '../src/database/database.ts'
import { findFreePort } from '../test/support/ports.ts'
import type { Brokerage } from './brokerage.ts'
import type { Credentials } from './requests.ts'
import { startServer } from './server-process.ts'
import { here, load, type Source } from './source.ts'
import type { Stage } from './stage.ts'

export interface GatewayUnderTest {
  readonly source: string
  readonly origin: string
  /** Where the brokerage's own systems call. */
  readonly internal: string
  readonly pid: number
  readonly db: Database
  /** The same, opened by the commit's own source, for what it fills itself. */
  readonly ownDb: Database
  readonly connectionString: string
  readonly vault: Vault
  /** An approved partner with webhooks at these addresses. */
  makeBranch(urls: readonly string[]): Promise<number>
  makePublisher(): Promise<Credentials>
}

/** With a thousand account holders. */
export async function startGateway(
  stage: Stage,
  source = here,
  env: Record<string, string> = {},
): Promise<GatewayUnderTest & Brokerage> {
  const gateway = await startEmptyGateway(stage, { source, env })
  const { fillBrokerage } = await load<typeof import('./brokerage.ts')>(source, 'bench/brokerage.ts')
  return { ...gateway, ...(await fillBrokerage(gateway.ownDb, gateway.vault)) }
}

export interface Opening {
  readonly source?: Source
  readonly dataDir?: string
  /** Instead of a private server in the data folder. */
  readonly databaseUrl?: string
  /** Settings that differ. */
  readonly env?: Record<string, string>
}

export async function startEmptyGateway(
  stage: Stage,
  { source = here, dataDir = stage.makeFolder(), databaseUrl, env = {} }: Opening = {},
): Promise<GatewayUnderTest> {
  // A node on a database of somebody's has its key from somebody, too.
  if (databaseUrl !== undefined && !existsSync(keyFileOf(dataDir))) makeKeyFile(keyFileOf(dataDir))
  const port = await findFreePort()
  const origin = `http://127.0.0.1:${port}`
  const internalPort = await findFreePort()
  // A commit from before there was an internal listener answers on the site.
  const hasInternal = existsSync(new URL('src/gateway/internal.ts', source.root))
  const internal = hasInternal ? `http://127.0.0.1:${internalPort}` : origin
  const pid = await startServer(stage, {
    program: new URL('bin/countersign.js', source.root),
    args: ['serve'],
    env: {
      HOST: '127.0.0.1',
      PORT: String(port),
      SANDBOX_PORT: String(await findFreePort()),
      INTERNAL_PORT: String(internalPort),
      DATA_DIR: dataDir,
      LOG_LEVEL: 'warn',
      RATE_LIMIT_PER_MINUTE: '0',
      WEBHOOK_ALLOW_LOOPBACK: 'true',
      ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl, SECRET_KEY_FILE: keyFileOf(dataDir) }),
      ...env,
    },
    origin,
    readyPath: '/readyz',
  })
  const connectionString = databaseUrl ?? socketOf(dataDir)
  return {
    source: source.name,
    origin,
    internal,
    pid,
    ...(await openTables(stage, source, dataDir, connectionString)),
  }
}

function keyFileOf(dataDir: string): string {
  return join(dataDir, 'secret.keys')
}

function socketOf(dataDir: string): string {
  return `postgresql://countersign@/countersign?host=${encodeURIComponent(join(dataDir, 'postgres', 'socket'))}`
}

/** The database of the gateway, and what writes to it as the commands of its own commit do. */
async function openTables(stage: Stage, source: Source, dataDir: string, connectionString: string) {
  const database = await load<typeof import('../src/database/database.ts')>(
    source,
    'src/database/database.ts',
  )
  const vaults = await load<typeof import('../src/crypto/vault.ts')>(source, 'src/crypto/vault.ts')
  const people = await load<typeof import('./publisher.ts')>(source, 'bench/publisher.ts')
  const db = openDatabase({ connectionString })
  const ownDb = database.openDatabase({ connectionString })
  stage.owns(() => db.close())
  stage.owns(() => ownDb.close())
  const vault = vaults.openVault({ kind: 'file', path: keyFileOf(dataDir) })
  return {
    db,
    ownDb,
    connectionString,
    vault,
    makeBranch: (urls: readonly string[]) => people.makeBranch({ db: ownDb, vault }, urls),
    makePublisher: () => people.makePublisher({ db: ownDb }),
  }
}

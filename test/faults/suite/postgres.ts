/**
 * A PostgreSQL primary and its streaming standby, real processes on loopback that can be stopped in every way
 * there is.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { openDatabase } from '../../../src/database/database.ts'
import { migrate } from '../../../src/database/migrations.ts'
import { getDisguise, getPostgres } from '../../../src/database/postgres-binaries.ts'
import { eventually } from '../../support/eventually.ts'
import { findFreePort } from '../../support/ports.ts'
import { makeFolder } from '../../support/process.ts'

export type Stop = 'in order' | 'immediate' | 'kill'

export interface Server {
  readonly folder: string
  readonly port: number
  start(): Promise<void>
  /** `immediate` is PostgreSQL's own word for a stop without a checkpoint; it recovers at the next start. */
  stop(how: Stop): Promise<void>
  ask<Row extends object>(text: string): Promise<Row[]>
}

export interface Pair {
  readonly primary: Server
  readonly standby: Server
  close(): Promise<void>
}

const superuser = 'countersign'
const databaseName = 'countersign'
const binaries = getPostgres(process.env.PATH ?? '')
const disguise = getDisguise()
const run = promisify(execFile)
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/**
 * Few connections, so that they can be used up, but enough for the processes of three nodes; a standby that
 * comes back soon.
 */
const settings = {
  listen_addresses: '127.0.0.1',
  max_connections: String(60 + 15 * (Number(process.env.PROCESSES ?? 1) - 1)),
  superuser_reserved_connections: '5',
  wal_keep_size: '256MB',
  wal_retrieve_retry_interval: '200ms',
  shared_buffers: '32MB',
}

/**
 * Commits are acknowledged when the standby has them too: only then does promoting it lose nothing.
 * `primaryFolder` and `standbyFolder` are made by the caller, who may have put them on a small disk;
 * `archive`, where there is one, gets the primary's log.
 */
export async function openPair(
  primaryFolder: string,
  standbyFolder: string,
  archive?: string,
): Promise<Pair> {
  const primary = openServer(primaryFolder, await findFreePort())
  const standby = openServer(standbyFolder, await findFreePort())
  const source = `host=127.0.0.1 port=${primary.port} user=${superuser} application_name=standby`
  await copyModel(primaryFolder, "synchronous_standby_names = 'standby'", ...archiving(archive))
  await copyModel(standbyFolder, `primary_conninfo = '${source}'`)
  writeFileSync(join(standbyFolder, 'standby.signal'), '')
  const close = async () => {
    await Promise.all([primary.stop('kill'), standby.stop('kill')])
  }
  try {
    await Promise.all([primary.start(), standby.start()])
    await eventually('the standby is in step', async () => {
      const [row] = await primary.ask<{ sync_state: string }>('SELECT sync_state FROM pg_stat_replication')
      return row?.sync_state === 'sync'
    })
  } catch (error) {
    await close()
    throw error
  }
  return { primary, standby, close }
}

/** A cluster of today's schema that nobody has used yet. Made once a process, and copied for each house. */
let model: Promise<string> | undefined

async function copyModel(folder: string, ...settings: readonly string[]): Promise<void> {
  model ??= makeModel()
  await run('cp', ['-a', `${await model}/.`, folder])
  appendFileSync(join(folder, 'postgresql.auto.conf'), `${settings.join('\n')}\n`)
}

/** Every segment of the log is copied away when it is full. */
function archiving(archive: string | undefined): string[] {
  if (archive === undefined) return []
  disguise.adopt(archive)
  return ['archive_mode = on', `archive_command = 'cp %p "${archive}/%f"'`]
}

async function makeModel(): Promise<string> {
  const folder = makeFolder()
  await initialise(folder)
  const server = openServer(folder, await findFreePort())
  await server.start()
  await server.ask(`CREATE DATABASE ${databaseName}`)
  const db = openDatabase({ connectionString: urlOf([server.port]), connections: 1 })
  await migrate(db)
  await db.close()
  await server.stop('in order')
  return folder
}

export function urlOf(ports: readonly number[]): string {
  return `postgresql://${superuser}@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${databaseName}`
}

async function initialise(folder: string): Promise<void> {
  disguise.adopt(folder)
  const [command, ...words] = [
    ...disguise.prefix,
    binaries.initdb,
    `--pgdata=${folder}`,
    `--username=${superuser}`,
    '--encoding=UTF8',
    '--locale=C',
    '--auth=trust',
    '--wal-segsize=4',
    // No power is cut here.
    '--no-sync',
  ]
  await run(command!, words, { cwd: '/', ...owner() })
}

function owner(): { uid?: number; gid?: number } {
  const { uid, gid } = disguise
  return { ...(uid !== undefined && { uid }), ...(gid !== undefined && { gid }) }
}

function openServer(folder: string, port: number): Server {
  let child: ChildProcess | undefined
  const ask = async <Row extends object>(text: string) => {
    const client = new pg.Client({
      host: '127.0.0.1',
      port,
      user: superuser,
      database: 'postgres',
      ...timeouts,
    })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query<Row>(text)).rows
    } finally {
      await client.end()
    }
  }
  return {
    folder,
    port,
    ask,
    /**
     * Whoever was killed may have left processes that still hold the folder: it is started again until they
     * are gone.
     */
    start: () =>
      eventually(`PostgreSQL answers on port ${port}`, async () => {
        if (!child || hasEnded(child)) child = spawnServer(folder, port)
        return ask('SELECT 1').then(
          () => true,
          () => wait(startAgainMs, false),
        )
      }).then(() => {}),
    async stop(how) {
      const stopping = child
      if (!stopping || hasEnded(stopping)) return
      stopping.kill(signals[how])
      await new Promise((ended) => stopping.once('exit', ended))
    },
  }
}

const startAgainMs = 50
const timeouts = { connectionTimeoutMillis: 30_000, query_timeout: 120_000 }
const signals = { 'in order': 'SIGINT', immediate: 'SIGQUIT', kill: 'SIGKILL' } as const

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null

function spawnServer(folder: string, port: number): ChildProcess {
  const words = Object.entries({ ...settings, port, unix_socket_directories: '' }).flatMap(
    ([name, value]) => ['-c', `${name}=${value}`],
  )
  const [command, ...rest] = [...disguise.prefix, binaries.postgres, '-D', folder, ...words]
  const started = spawn(command!, rest, { cwd: '/', stdio: 'ignore', ...owner() })
  running.add(started)
  started.once('exit', () => running.delete(started))
  return started
}

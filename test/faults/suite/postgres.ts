/** A PostgreSQL primary and its streaming standby, real processes on loopback that can be stopped in every way there is. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { getDisguise, getPostgres } from '../../../src/database/postgres-binaries.ts'
import { takeBaseBackup } from '../../support/base-backup.ts'
import { eventually } from '../../support/eventually.ts'
import { findFreePort } from '../../support/ports.ts'

export type Stop = 'immediate' | 'kill'

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
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Few connections, so that they can be used up, but enough for the processes of three nodes; a standby that comes back soon. */
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
 * `primaryFolder` and `standbyFolder` are made by the caller, who may have put them on a small disk.
 */
export async function openPair(primaryFolder: string, standbyFolder: string): Promise<Pair> {
  const primary = openServer(primaryFolder, await findFreePort())
  initialise(primaryFolder)
  await primary.start()
  await primary.ask(`CREATE DATABASE ${databaseName}`)
  const standby = openServer(standbyFolder, await findFreePort())
  await takeBaseBackup(urlOf([primary.port]), primaryFolder, standbyFolder, { waitForArchive: false })
  if (disguise.uid !== undefined) spawnSync('chown', ['-R', `${disguise.uid}:${disguise.gid}`, standbyFolder])
  writeFileSync(join(standbyFolder, 'standby.signal'), '')
  const source = `host=127.0.0.1 port=${primary.port} user=${superuser} application_name=standby`
  writeFileSync(join(standbyFolder, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`)
  await standby.start()
  await primary.ask("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
  await primary.ask('SELECT pg_reload_conf()')
  await eventually('the standby is in step', async () => {
    const [row] = await primary.ask<{ sync_state: string }>('SELECT sync_state FROM pg_stat_replication')
    return row?.sync_state === 'sync'
  })
  return {
    primary,
    standby,
    async close() {
      await Promise.all([primary.stop('kill'), standby.stop('kill')])
    },
  }
}

export function urlOf(ports: readonly number[]): string {
  return `postgresql://${superuser}@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${databaseName}`
}

function initialise(folder: string): void {
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
  const { status, stderr } = spawnSync(command!, words, { cwd: '/', encoding: 'utf8', ...owner() })
  if (status !== 0) throw new Error(`initdb failed: ${stderr}`)
}

function owner(): { uid?: number; gid?: number } {
  const { uid, gid } = disguise
  return { ...(uid !== undefined && { uid }), ...(gid !== undefined && { gid }) }
}

function openServer(folder: string, port: number): Server {
  let child: ChildProcess | undefined
  const ask = async <Row extends object>(text: string) => {
    const client = new pg.Client({ host: '127.0.0.1', port, user: superuser, database: 'postgres' })
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
    async start() {
      const words = Object.entries({ ...settings, port, unix_socket_directories: '' }).flatMap(([name, value]) => [
        '-c',
        `${name}=${value}`,
      ])
      const [command, ...rest] = [...disguise.prefix, binaries.postgres, '-D', folder, ...words]
      const started = spawn(command!, rest, { cwd: '/', stdio: 'ignore', ...owner() })
      child = started
      running.add(started)
      started.once('exit', () => running.delete(started))
      await eventually(`PostgreSQL answers on port ${port}`, async () => {
        if (started.exitCode !== null) throw new Error(`PostgreSQL ended with ${started.exitCode} in ${folder}`)
        return ask('SELECT 1').then(
          () => true,
          () => false,
        )
      })
    },
    async stop(how) {
      const stopping = child
      if (!stopping || stopping.exitCode !== null || stopping.signalCode !== null) return
      stopping.kill(how === 'kill' ? 'SIGKILL' : 'SIGQUIT')
      await new Promise((ended) => stopping.once('exit', ended))
    },
  }
}

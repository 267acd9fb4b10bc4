/**
 * A PostgreSQL that this system has installed, with the programs that npm's does not bring: pg_dump,
 * pg_restore and pg_basebackup.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { getDisguise, type RunAs } from '../../src/database/postgres-binaries.ts'
import { eventually } from './eventually.ts'
import { makeFolder, tryReading } from './process.ts'

export interface SystemServer {
  readonly url: string
  /** Its folder of sockets, where programs of its own look for it. */
  readonly sockets: string
  close(): Promise<void>
}

/** The folder of its programs; undefined where there is none. */
export function findSystemPostgres(): string | undefined {
  const home = '/usr/lib/postgresql'
  const versions = existsSync(home)
    ? readdirSync(home).sort((left, right) => Number(right) - Number(left))
    : []
  const folders = [
    ...versions.map((version) => join(home, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ]
  const wanted = ['initdb', 'postgres', 'pg_dump', 'pg_restore', 'pg_basebackup']
  return folders.find((folder) => wanted.every((name) => existsSync(join(folder, name))))
}

/** With settings of its own, as on a command line. On a cluster that is there, or on a new one. */
export async function openSystemServer(
  programs: string,
  settings: Readonly<Record<string, string>> = {},
  cluster = makeCluster(programs),
): Promise<SystemServer> {
  const disguise = getDisguise()
  const sockets = makeFolder()
  disguise.adopt(sockets)
  const all = { listen_addresses: '', unix_socket_directories: sockets, ...settings }
  const words = ['-D', cluster, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  const server = start(disguise, join(programs, 'postgres'), words)
  const ended = once(server, 'exit')
  await eventually('the server is ready', () => {
    if (server.exitCode !== null) throw new Error('The server did not start.')
    return tryReading(join(cluster, 'postmaster.pid'))?.split('\n')[7]?.trim() === 'ready'
  })
  return {
    url: `postgresql://countersign@/postgres?host=${encodeURIComponent(sockets)}`,
    sockets,
    async close() {
      server.kill('SIGINT')
      await ended
    },
  }
}

function makeCluster(programs: string): string {
  const cluster = makeFolder()
  const disguise = getDisguise()
  disguise.adopt(cluster)
  run(disguise, join(programs, 'initdb'), [
    `--pgdata=${cluster}`,
    '--username=countersign',
    '--auth=trust',
    '--encoding=UTF8',
    '--locale=C',
  ])
  return cluster
}

/** As the owner of the server, with what it says. */
export function run({ prefix, uid, gid }: RunAs, program: string, args: readonly string[]): string {
  const [command, ...words] = [...prefix, program, ...args]
  return execFileSync(command!, words, {
    ...{ cwd: '/', encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
    ...(uid !== undefined && { uid }),
    ...(gid !== undefined && { gid }),
  })
}

function start({ prefix, uid, gid }: RunAs, program: string, args: readonly string[]): ChildProcess {
  const [command, ...words] = [...prefix, program, ...args]
  return spawn(command!, words, {
    ...{ cwd: '/', stdio: 'ignore' },
    ...(uid !== undefined && { uid }),
    ...(gid !== undefined && { gid }),
  })
}

/** The servers of a Citus on this machine, stopped and started by what they know of themselves. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Engine } from '../support/engine.ts'

export interface Server {
  readonly part: number
  readonly host: string
  readonly port: number
  /** Its data folder and its user, by which it is started again. */
  readonly folder: string
  readonly user: string
  readonly programs: string
  readonly pid: number
}

const run = promisify(execFile)

type Place = Pick<Server, 'part' | 'host' | 'port'>

async function describe(place: Place, folder: string): Promise<Server> {
  const { stdout: user } = await run('stat', ['--format=%U', folder])
  const { stdout: first } = await run('head', ['--lines=1', `${folder}/postmaster.pid`])
  const { stdout: program } = await run('readlink', [`/proc/${first.trim()}/exe`])
  const programs = program.trim().replace(/\/postgres$/, '')
  return { ...place, folder, user: user.trim(), programs, pid: Number(first) }
}

export async function findPartServers(sql: Engine['sql']): Promise<Server[]> {
  const servers = await sql<Place>('SELECT * FROM part_servers()')
  const rows = await sql<{ port: number; folder: string }>(
    `SELECT nodeport AS port, result AS folder FROM run_command_on_workers('SHOW data_directory')`,
  )
  return Promise.all(
    servers.map((server) => describe(server, rows.find(({ port }) => port === server.port)!.folder)),
  )
}

export async function findCoordinator(sql: Engine['sql']): Promise<Server> {
  const [row] = await sql<{ port: number; folder: string }>(
    `SELECT current_setting('port')::int AS port, current_setting('data_directory') AS folder`,
  )
  return describe({ part: -1, host: 'localhost', port: row!.port }, row!.folder)
}

/** `immediate` is what kill -9 of all its processes leaves behind. */
export async function stop(server: Server, how: 'immediate' | 'fast'): Promise<void> {
  await control(server, ['-m', how, 'stop'])
}

/** Until `goOn` it answers nothing, and its connections stay. */
export async function standStill({ pid }: Server): Promise<void> {
  for (const each of await findProcesses(pid)) process.kill(each, 'SIGSTOP')
}

export async function goOn({ pid }: Server): Promise<void> {
  for (const each of await findProcesses(pid)) process.kill(each, 'SIGCONT')
}

async function findProcesses(pid: number): Promise<number[]> {
  const { stdout } = await run('pgrep', ['--parent', String(pid)])
  return [pid, ...stdout.trim().split('\n').map(Number)]
}

export async function restart(server: Server): Promise<void> {
  await control(server, ['-l', `${server.folder}.log`, 'start'])
}

/** In seconds: a server that was killed reads its log again first, which on a busy machine takes its time. */
const patience = '300'

async function control({ folder, user, programs }: Server, words: readonly string[]): Promise<void> {
  const command = [`${programs}/pg_ctl`, '-D', folder, '-w', '-t', patience, ...words].join(' ')
  await run('su', ['-s', '/bin/sh', user, '-c', `${command} >/dev/null 2>&1`])
}

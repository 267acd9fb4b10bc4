/**
 * The gateway's own PostgreSQL, in the data folder, on a Unix socket only. A small shell stands between the gateway
 * and the server: it holds the reading end of a pipe, and when the gateway is gone, however it went, the pipe ends
 * and the shell stops the server. Commands that run beside a gateway join its server; alone, they start one for
 * as long as they need it.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type Disguise, findDisguise, findPostgres, type PostgresBinaries } from './postgres-binaries.ts'

export interface PrivateServer {
  readonly connectionString: string
  /** Called after the server died and was started again. */
  onRestart(restarted: () => void): void
  close(): Promise<void>
}

export interface PrivateServerOptions {
  readonly dataDir: string
  /** `serve` owns the server for its whole life; `visit` joins a running one or starts it for a while. */
  readonly purpose: 'serve' | 'visit'
  readonly searchPath: string
  readonly log?: (message: string) => void
  /** What the gateway opens at most; there is room for commands beside them. */
  readonly connections?: number
}

const startTimeoutMs = 60_000
/** How long a visitor waits for the server it started to end; other visitors may still be at work on it. */
const visitorPatienceMs = 1_000
const socketPathLimit = 107
const usualConnections = 100
/** For commands, the doctor, and PostgreSQL's own. */
const connectionsBeside = 40
const databaseName = 'countersign'
const superuser = 'countersign'

/** Prints the server's process id, then waits for its end, or for the word (or the end) of descriptor 3. */
const guardScript = `
"$@" 3<&- >>"$log" 2>&1 &
server=$!
echo $server
exec >&-
( read -r signal <&3; kill "-\${signal:-INT}" $server ) 2>/dev/null &
wait $server
code=$?
kill -9 $! 2>/dev/null
exit $code`

interface Cluster {
  readonly folder: string
  readonly socketFolder: string
  readonly ownerFile: string
  readonly logFile: string
  readonly searchPath: string
  readonly connections: number
  readonly binaries: PostgresBinaries
  readonly disguise: Disguise
}

/** Whether a first start has made the server's folder. */
export function hasCluster(dataDir: string): boolean {
  return existsSync(join(resolve(dataDir), 'postgres', 'cluster'))
}

export async function openPrivateServer(options: PrivateServerOptions): Promise<PrivateServer> {
  const home = join(resolve(options.dataDir), 'postgres')
  if (options.purpose === 'visit' && (await accepts(socketFile(socketFolderFor(home))))) return joined(home)
  const cluster = prepareCluster(home, options)
  const deadline = Date.now() + startTimeoutMs
  for (;;) {
    forgetReusedPid(cluster)
    const server = await startServer(cluster, options.purpose)
    if (server.kind === 'started') return supervised(cluster, server.guard, options)
    if (options.purpose === 'visit' && (await accepts(socketFile(cluster.socketFolder)))) return joined(home)
    refuseSecondGateway(cluster, options)
    if (Date.now() > deadline) {
      throw new Error(`The private PostgreSQL in ${cluster.folder} does not start. ${tail(cluster.logFile)}`)
    }
    await wait(100)
  }
}

/** The server that another process keeps. */
export function joinPrivateServer(dataDir: string): PrivateServer {
  return joined(join(resolve(dataDir), 'postgres'))
}

function joined(home: string): PrivateServer {
  return { connectionString: urlOf(socketFolderFor(home)), onRestart: () => {}, close: async () => {} }
}

/** Keeps the server up for the gateway's whole life: one that dies is started again at once. */
function supervised(cluster: Cluster, first: ChildProcess, options: PrivateServerOptions): PrivateServer {
  let guard = first
  let closing = false
  let restarted = () => {}

  /** A visitor's server waits for other visitors to leave (TERM); a gateway's ends its sessions (INT). */
  const tellToEnd = () => {
    const pipe = guard.stdio[3] as NodeJS.WritableStream
    pipe.end(options.purpose === 'serve' ? 'INT\n' : 'TERM\n')
  }
  async function keepAlive(): Promise<void> {
    await ended(guard)
    while (!closing) {
      options.log?.('The private PostgreSQL ended unexpectedly; starting it again.')
      const server = await startServer(cluster, options.purpose)
      if (server.kind === 'started') {
        guard = server.guard
        if (closing) tellToEnd()
        restarted()
        await ended(guard)
      } else {
        await wait(100)
      }
    }
  }
  const watching = options.purpose === 'serve' ? keepAlive() : ended(guard)

  return {
    connectionString: urlOf(cluster.socketFolder),
    onRestart(listener) {
      restarted = listener
    },
    async close() {
      closing = true
      tellToEnd()
      await (options.purpose === 'serve'
        ? watching
        : Promise.race([watching, wait(visitorPatienceMs, undefined, { ref: false })]))
      letGo(guard)
    },
  }
}

function letGo(guard: ChildProcess): void {
  guard.unref()
  for (const stream of guard.stdio) (stream as { unref?: () => void } | null)?.unref?.()
}

function prepareCluster(home: string, { searchPath, connections = 0 }: PrivateServerOptions): Cluster {
  const cluster: Cluster = {
    folder: join(home, 'cluster'),
    socketFolder: socketFolderFor(home),
    ownerFile: join(home, 'owner.json'),
    logFile: join(home, 'server.log'),
    searchPath,
    connections,
    binaries: findPostgres(searchPath),
    disguise: findDisguise(),
  }
  mkdirSync(home, { recursive: true, mode: 0o700 })
  cluster.disguise.adopt(home)
  makePrivateFolder(cluster.socketFolder)
  cluster.disguise.adopt(cluster.socketFolder)
  if (!existsSync(cluster.folder)) initialise(cluster)
  return cluster
}

/** A path too long for a Unix socket gives way to a folder of our own under the system's temporary one. */
function socketFolderFor(home: string): string {
  const inside = join(home, 'socket')
  if (Buffer.byteLength(socketFile(inside)) <= socketPathLimit) return inside
  return join(tmpdir(), `countersign-${createHash('sha256').update(home).digest('hex').slice(0, 16)}`)
}

function makePrivateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  const ours = process.getuid === undefined || found.uid === process.getuid() || process.getuid() === 0
  if (!found.isDirectory() || !ours || (found.mode & 0o077) !== 0) {
    throw new Error(`${folder} must be a folder of this user alone (mode 0700). Remove it and start again.`)
  }
}

function socketFile(socketFolder: string): string {
  return join(socketFolder, '.s.PGSQL.5432')
}

function urlOf(socketFolder: string): string {
  return `postgresql://${superuser}@/${databaseName}?host=${encodeURIComponent(socketFolder)}`
}

/** Made beside and renamed: a first start that is interrupted leaves no half-made cluster, and of two at once one wins. */
function initialise(cluster: Cluster): void {
  removeDeadDrafts(cluster)
  const draft = `${cluster.folder}.new-${process.pid}`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { mode: 0o700 })
  cluster.disguise.adopt(draft)
  run(cluster, cluster.binaries.initdb, [
    `--pgdata=${draft}`,
    `--username=${superuser}`,
    '--encoding=UTF8',
    '--locale=C',
    // The socket's folder lets in nobody but its owner.
    '--auth=trust',
  ])
  run(cluster, cluster.binaries.postgres, ['--single', '-D', draft, 'postgres'], `CREATE DATABASE ${databaseName}\n`)
  try {
    renameSync(draft, cluster.folder)
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    rmSync(draft, { recursive: true, force: true })
  }
}

function removeDeadDrafts(cluster: Cluster): void {
  const home = dirname(cluster.folder)
  for (const name of readdirSync(home).filter((each) => each.startsWith('cluster.new'))) {
    const owner = Number(name.split('-')[1])
    if (!owner || !isAlive(owner)) rmSync(join(home, name), { recursive: true, force: true, maxRetries: 5 })
  }
}

function run({ disguise }: Cluster, program: string, args: string[], input = ''): void {
  const [command, ...words] = [...disguise.prefix, program, ...args]
  const { uid, gid } = disguise
  const done = spawnSync(command!, words, {
    input,
    encoding: 'utf8',
    cwd: '/',
    ...(uid !== undefined && { uid }),
    ...(gid !== undefined && { gid }),
  })
  if (done.status !== 0) {
    throw new Error(`${program} failed: ${done.error?.message ?? (done.stderr.trim() || done.stdout.trim())}`)
  }
}

type Start = { kind: 'started'; guard: ChildProcess } | { kind: 'refused' }

/** Refused when another server holds the folder, or when the last one's processes have not all ended yet. */
async function startServer(cluster: Cluster, purpose: string): Promise<Start> {
  const { uid, gid } = cluster.disguise
  rotateLog(cluster.logFile)
  const guard = spawn('/bin/sh', ['-c', guardScript, 'sh', ...serverCommand(cluster)], {
    cwd: '/',
    env: { PATH: cluster.searchPath, log: cluster.logFile },
    // A group of its own: Control-C in a terminal reaches the gateway, which then stops the server in order.
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    ...(uid !== undefined && { uid }),
    ...(gid !== undefined && { gid }),
  })
  guard.stdio[3]?.on('error', () => {})
  const pid = Number(await firstLine(guard))
  const over = ended(guard)
  while (guard.exitCode === null && guard.signalCode === null) {
    if (isReady(cluster, pid)) {
      writeFileSync(cluster.ownerFile, JSON.stringify({ pid: process.pid, purpose }))
      return { kind: 'started', guard }
    }
    await Promise.race([over, wait(10)])
  }
  return { kind: 'refused' }
}

function serverCommand(cluster: Cluster): string[] {
  const settings = {
    listen_addresses: '',
    // A list: quoted, so that a comma in the path is a letter of it.
    unix_socket_directories: `"${cluster.socketFolder.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    max_connections: String(Math.max(usualConnections, cluster.connections + connectionsBeside)),
  }
  const words = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  return [...cluster.disguise.prefix, cluster.binaries.postgres, '-D', cluster.folder, ...words]
}

/** The lines of postmaster.pid: process id first, state eighth. */
function isReady(cluster: Cluster, pid: number): boolean {
  const lines = readLines(join(cluster.folder, 'postmaster.pid'))
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
}

/**
 * After a power cut the number of the dead server may belong to a stranger, and PostgreSQL would wait for it for ever.
 * The number alone is replaced: the rest of the file still guards against survivors of the old server.
 */
function forgetReusedPid(cluster: Cluster): void {
  const path = join(cluster.folder, 'postmaster.pid')
  const lines = readLines(path)
  const pid = Number(lines[0])
  if (!pid || process.platform !== 'linux') return
  if (worksIn(cluster.folder, pid)) return
  const impossiblePid = 2 ** 31 - 2
  writeFileSync(path, [String(impossiblePid), ...lines.slice(1)].join('\n'))
  const lock = `${socketFile(cluster.socketFolder)}.lock`
  rmSync(lock, { force: true })
}

/** A server's working folder is its cluster; another cluster's server is a stranger here. */
function worksIn(folder: string, pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(folder)
  } catch {
    return false
  }
}

function refuseSecondGateway(cluster: Cluster, { purpose, dataDir }: PrivateServerOptions): void {
  if (purpose !== 'serve') return
  const owner = readOwner(cluster)
  if (owner.purpose === 'serve' && owner.pid && isAlive(owner.pid)) {
    throw new Error(
      `A gateway (process ${owner.pid}) already runs on the data folder ${dataDir}. Stop it first, or set DATA_DIR to another ` +
        'folder, or DATABASE_URL to share one PostgreSQL between several gateways.',
    )
  }
}

/** Empty when the file is missing, or was being written when its writer died. */
function readOwner(cluster: Cluster): { pid?: number; purpose?: string } {
  try {
    return JSON.parse(readFileSync(cluster.ownerFile, 'utf8'))
  } catch {
    return {}
  }
}

function isAlive(pid: number): boolean {
  // Dead, but its parent has not asked how it ended.
  if (/^State:\s+Z/m.test(readLines(`/proc/${pid}/status`).join('\n'))) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function accepts(path: string): Promise<boolean> {
  return new Promise((answer) => {
    const socket = connect(path)
    socket.once('connect', () => answer(true)).once('error', () => answer(false))
    socket.once('connect', () => socket.destroy())
  })
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((done) => child.once('exit', () => done()))
}

async function firstLine(child: ChildProcess): Promise<string> {
  let text = ''
  for await (const chunk of child.stdout!) text += chunk
  return text.trim()
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch {
    return []
  }
}

const logLimitBytes = 10 * 1024 * 1024

function rotateLog(path: string): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > logLimitBytes) renameSync(path, `${path}.1`)
}

function tail(path: string): string {
  const lines = readLines(path).filter((line) => line !== '')
  return lines.length === 0 ? '' : `Its last words: ${lines.slice(-3).join(' / ')}`
}

/** The folder of the private PostgreSQL: where everything in it lies, and how a first start makes it. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { codeOf } from '../text/thrown.ts'
import { getDisguise, getPostgres, type PostgresBinaries, type RunAs } from './postgres-binaries.ts'

const socketPathLimit = 107
const databaseName = 'countersign'
const superuser = 'countersign'

export interface Cluster {
  readonly folder: string
  readonly socketFolder: string
  readonly ownerFile: string
  readonly logFile: string
  readonly searchPath: string
  /** What the gateway opens at most. */
  readonly connections: number
  readonly binaries: PostgresBinaries
  readonly disguise: RunAs
}

/** Beside the cluster lie its socket, its log and the name of its owner. */
export function homeOf(dataDir: string): string {
  return join(resolve(dataDir), 'postgres')
}

/** Whether a first start has made the server's folder. */
export function hasCluster(dataDir: string): boolean {
  return existsSync(join(homeOf(dataDir), 'cluster'))
}

export function prepareCluster(home: string, searchPath: string, connections = 0): Cluster {
  const cluster: Cluster = {
    folder: join(home, 'cluster'),
    socketFolder: socketFolderFor(home),
    ownerFile: join(home, 'owner.json'),
    logFile: join(home, 'server.log'),
    searchPath,
    connections,
    binaries: getPostgres(searchPath),
    disguise: getDisguise(),
  }
  mkdirSync(home, { recursive: true, mode: 0o700 })
  cluster.disguise.adopt(home)
  makePrivateFolder(cluster.socketFolder)
  cluster.disguise.adopt(cluster.socketFolder)
  if (!existsSync(cluster.folder)) initialise(cluster)
  return cluster
}

/** A path too long for a Unix socket gives way to a folder of our own under the system's temporary one. */
export function socketFolderFor(home: string): string {
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

export function socketFile(socketFolder: string): string {
  return join(socketFolder, '.s.PGSQL.5432')
}

export function urlOf(socketFolder: string): string {
  return `postgresql://${superuser}@/${databaseName}?host=${encodeURIComponent(socketFolder)}`
}

/**
 * Made beside and renamed: a first start that is interrupted leaves no half-made cluster, and of two at once
 * one wins.
 */
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
    // Only its owner may enter the socket's folder.
    '--auth=trust',
  ])
  run(
    cluster,
    cluster.binaries.postgres,
    ['--single', '-D', draft, 'postgres'],
    `CREATE DATABASE ${databaseName}\n`,
  )
  try {
    renameSync(draft, cluster.folder)
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(error) ?? '')) throw error
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
  const [command = program, ...words] = [...disguise.prefix, program, ...args]
  const { uid, gid } = disguise
  const done = spawnSync(command, words, {
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

export function isAlive(pid: number): boolean {
  // Dead, but its parent has not asked how it ended.
  if (/^State:\s+Z/m.test(readLines(`/proc/${pid}/status`).join('\n'))) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/** None, where there is no file. */
export function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch {
    return []
  }
}

/**
 * One run of the private PostgreSQL. A small shell, the guard, stands between the gateway and the server: it
 * holds the reading end of a pipe, and when the gateway is gone, however it went, the pipe ends and the guard
 * stops the server.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readlinkSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type Cluster, readLines, socketFile } from './cluster.ts'

const usualConnections = 100
/** For commands, the doctor, and PostgreSQL's own. */
const connectionsBeside = 40
const logLimitBytes = 10 * 1024 * 1024

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

/** Refused when another server holds the folder, or when the last one's processes have not all ended yet. */
export type Start = { kind: 'started'; guard: ChildProcess } | { kind: 'refused' }

export async function startServer(cluster: Cluster): Promise<Start> {
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
    if (isReady(cluster, pid)) return { kind: 'started', guard }
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

/** How the guard is told to stop the server: TERM waits for its sessions to end, INT ends them. */
export function tellToEnd(guard: ChildProcess, signal: 'INT' | 'TERM'): void {
  const pipe = guard.stdio[3]
  if (pipe instanceof Socket) pipe.end(`${signal}\n`)
}

/** The gateway may end before the server does. */
export function letGo(guard: ChildProcess): void {
  guard.unref()
  for (const stream of guard.stdio) if (stream instanceof Socket) stream.unref()
}

export function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((done) => child.once('exit', () => done()))
}

async function firstLine(child: ChildProcess): Promise<string> {
  let text = ''
  for await (const chunk of child.stdout ?? []) text += chunk
  return text.trim()
}

/**
 * After a power cut the number of the dead server may belong to another program, and PostgreSQL would wait
 * for it for ever. The number alone is replaced: the rest of the file still guards against survivors of the
 * old server.
 */
export function forgetReusedPid(cluster: Cluster): void {
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

/** A server's working folder is its cluster: a process that works elsewhere is not this cluster's server. */
function worksIn(folder: string, pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(folder)
  } catch {
    return false
  }
}

function rotateLog(path: string): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > logLimitBytes) renameSync(path, `${path}.1`)
}

export function lastWords(path: string): string {
  const lines = readLines(path).filter((line) => line !== '')
  return lines.length === 0 ? '' : `Its last words: ${lines.slice(-3).join(' / ')}`
}

/**
 * The gateway's own PostgreSQL, in the data folder, on a Unix socket only. A gateway owns its server for its
 * whole life. Commands that run beside a gateway join its server; alone, they start one for as long as they
 * need it.
 */
import type { ChildProcess } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import {
  type Cluster,
  homeOf,
  isAlive,
  prepareCluster,
  socketFile,
  socketFolderFor,
  urlOf,
} from './cluster.ts'
import { ended, forgetReusedPid, lastWords, letGo, type Start, startServer, tellToEnd } from './postmaster.ts'

export interface PrivateServer {
  readonly connectionString: string
  /** Called after the server died and was started again. */
  onRestart(restarted: () => void): void
  close(): Promise<void>
}

interface PrivateServerOptions {
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
const visitorTimeoutMs = 1_000

export async function openPrivateServer(options: PrivateServerOptions): Promise<PrivateServer> {
  const home = homeOf(options.dataDir)
  if (options.purpose === 'visit' && (await accepts(socketFile(socketFolderFor(home))))) return joined(home)
  const cluster = prepareCluster(home, options.searchPath, options.connections)
  const deadline = performance.now() + startTimeoutMs
  for (;;) {
    forgetReusedPid(cluster)
    const server = await start(cluster, options)
    if (server.kind === 'started') return supervised(cluster, server.guard, options)
    if (options.purpose === 'visit' && (await accepts(socketFile(cluster.socketFolder)))) return joined(home)
    refuseSecondGateway(cluster, options)
    if (performance.now() > deadline) {
      throw new Error(
        `The private PostgreSQL in ${cluster.folder} does not start. ${lastWords(cluster.logFile)}`,
      )
    }
    await wait(100)
  }
}

/** The server that another process keeps. */
export function joinPrivateServer(dataDir: string): PrivateServer {
  return joined(homeOf(dataDir))
}

function joined(home: string): PrivateServer {
  return { connectionString: urlOf(socketFolderFor(home)), onRestart: () => {}, close: async () => {} }
}

/** Keeps the server up for the gateway's whole life: one that dies is started again at once. */
function supervised(cluster: Cluster, first: ChildProcess, options: PrivateServerOptions): PrivateServer {
  let guard = first
  let closing = false
  let restarted = () => {}

  /** A visitor's server waits for other visitors to leave; a gateway's ends its sessions. */
  const end = () => tellToEnd(guard, options.purpose === 'serve' ? 'INT' : 'TERM')
  async function keepAlive(): Promise<void> {
    await ended(guard)
    while (!closing) {
      options.log?.('The private PostgreSQL ended unexpectedly; starting it again.')
      const server = await start(cluster, options)
      if (server.kind === 'started') {
        guard = server.guard
        if (closing) end()
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
      end()
      await (options.purpose === 'serve'
        ? watching
        : Promise.race([watching, wait(visitorTimeoutMs, undefined, { ref: false })]))
      letGo(guard)
    },
  }
}

async function start(cluster: Cluster, { purpose }: PrivateServerOptions): Promise<Start> {
  const server = await startServer(cluster)
  if (server.kind === 'started')
    writeFileSync(cluster.ownerFile, JSON.stringify({ pid: process.pid, purpose }))
  return server
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

function accepts(path: string): Promise<boolean> {
  return new Promise((answer) => {
    const socket = connect(path)
    socket.once('connect', () => answer(true)).once('error', () => answer(false))
    socket.once('connect', () => socket.destroy())
  })
}

/**
 * Asks every host of DATABASE_URL, or the private server, what it is. Nothing is migrated, nothing is made.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { hasCluster } from '../database/cluster.ts'
import { type Database, DatabaseUnavailable, openDatabase } from '../database/database.ts'
import { parseHosts } from '../database/hosts.ts'
import { NotPrimary } from '../database/pool.ts'
import { openPrivateServer } from '../database/private-server.ts'
import { selectVersion } from '../database/server.sql.ts'
import type { Config } from '../settings/config.ts'
import { codeOf, messageOf } from '../text/thrown.ts'
import { type Answer, fail, ok, warn } from './finding.ts'
import { limits } from './limits.ts'

/** The primary, and more connections to it. */
export interface Primary {
  readonly db: Database
  readonly hosts: number
  readonly version: number
  readonly versionText: string
  /** One connection of its own, closed with the rest. */
  another(): Database
  close(): Promise<void>
}

interface HostAddress {
  /** Without user and password. */
  readonly name: string
  readonly url: string
}

interface HostState extends HostAddress {
  readonly state: 'primary' | 'standby' | 'away'
  readonly version: number
  readonly versionText: string
  readonly error?: unknown
}

export function splitHosts(url: string): HostAddress[] {
  return parseHosts(url).map((each) => ({ name: nameOf(each), url: each }))
}

function nameOf(url: string): string {
  const [, authority = '', query = ''] = /^\w+:\/\/(?:[^/?]*@)?([^/?]*)[^?]*(?:\?(.*))?$/.exec(url) ?? []
  const parameters = new URLSearchParams(query)
  const host = parameters.get('host') ?? (authority || 'localhost')
  return host.startsWith('/') || /:\d+$/.test(host) ? host : `${host}:${parameters.get('port') ?? 5432}`
}

export function findPrimary(config: Config, closers: (() => Promise<void>)[]): Promise<Answer<Primary>> {
  return config.databaseUrl === undefined
    ? visitPrivateServer(config, closers)
    : askHosts(splitHosts(config.databaseUrl), closers)
}

async function visitPrivateServer(
  config: Config,
  closers: (() => Promise<void>)[],
): Promise<Answer<Primary>> {
  const { dataDir, searchPath } = config
  if (!hasCluster(dataDir)) {
    return {
      finding: warn(`There is no private server in ${dataDir} yet.`, 'Start the gateway: it makes one.'),
    }
  }
  const deadline = performance.now() + limits.leavingMs
  for (;;) {
    const server = await openPrivateServer({ dataDir, purpose: 'visit', searchPath })
    const states = await askHost({ name: `the private server in ${dataDir}`, url: server.connectionString })
    // The server that a visitor joined may be on its way out, because the visitor who started it has left.
    const isLeaving = states.error instanceof DatabaseUnavailable && performance.now() < deadline
    if (!isLeaving) {
      closers.push(server.close)
      return judge([states], closers)
    }
    await server.close()
    await wait(50)
  }
}

async function askHosts(
  hosts: readonly HostAddress[],
  closers: (() => Promise<void>)[],
): Promise<Answer<Primary>> {
  return judge(await Promise.all(hosts.map(askHost)), closers)
}

async function askHost(host: HostAddress): Promise<HostState> {
  const db = open(host.url)
  try {
    const { version, text } = await db.one(selectVersion)
    return { ...host, state: 'primary', version, versionText: text.replace(/ .*/s, '') }
  } catch (error) {
    const state = rootOf(error) instanceof NotPrimary ? 'standby' : 'away'
    return { ...host, state, version: 0, versionText: '', error }
  } finally {
    await db.close()
  }
}

function open(url: string): Database {
  const { checkMs } = limits
  return openDatabase({
    connectionString: url,
    connections: 1,
    connectTimeoutMs: checkMs,
    answerTimeoutMs: checkMs,
  })
}

function judge(states: readonly HostState[], closers: (() => Promise<void>)[]): Answer<Primary> {
  const found = `${states.map(printHost).join('; ')}.`
  const primary = states.find((host) => host.state === 'primary')
  const away = states.find((host) => host.state === 'away')
  if (!primary) {
    const advice = away
      ? adviceFor(away.error)
      : 'Name the primary in DATABASE_URL too, or promote a standby.'
    return { finding: fail(found, advice) }
  }
  const value = openPrimary(primary, states.length)
  closers.push(value.close)
  return { finding: away ? warn(found, adviceFor(away.error)) : ok(found), value }
}

function openPrimary({ url, version, versionText }: HostState, hosts: number): Primary {
  const opened: Database[] = []
  const another = () => {
    const db = open(url)
    opened.push(db)
    return db
  }
  const close = async () => {
    await Promise.all(opened.map((db) => db.close()))
  }
  return { db: another(), hosts, version, versionText, another, close }
}

function printHost({ name, state, error }: HostState): string {
  return state === 'away' ? `${name} is away (${messageOf(rootOf(error))})` : `${name} is ${state}`
}

/** What the driver said, without our wrapping. */
function rootOf(error: unknown): unknown {
  return error instanceof Error ? (error.cause ?? error) : error
}

const advices: readonly (readonly [RegExp, string])[] = [
  [/^28/, 'Check user and password in DATABASE_URL, and pg_hba.conf on the server.'],
  [/^3D000/, 'Create the database that DATABASE_URL names.'],
  [/^53300/, 'All connections are taken: raise max_connections, or lower DATABASE_CONNECTIONS.'],
  [/^ENOTFOUND|^EAI_AGAIN/, "Check the host's name in DATABASE_URL, and this machine's name servers."],
  [/^ECONNREFUSED|^ENOENT/, 'Is PostgreSQL running there? Check host and port in DATABASE_URL.'],
]

function adviceFor(error: unknown): string {
  const code = codeOf(rootOf(error)) ?? ''
  const known = advices.find(([pattern]) => pattern.test(code))
  return (
    known?.[1] ??
    'Check DATABASE_URL and what stands between this machine and PostgreSQL, such as a firewall.'
  )
}

/**
 * The Citus whose coordinator `CITUS_URL` names, for a run of tests on it: each file gets a database of its own
 * there, cloned on the coordinator and on its workers.
 */
import { codeOf } from '../../src/text/thrown.ts'
import { ask } from './ask.ts'
import { eventually } from './eventually.ts'
import { openLenientDatabase } from './lenient-database.ts'

export const citusUrl = process.env.CITUS_URL

/** For `skip`: a test that asks what a Citus does not have, or has elsewhere, in words. */
export function onPlainOnly(why: string): string | false {
  return citusUrl !== undefined && why
}

/** Connected to by the address of the coordinator or of a worker. */
async function run<Row extends object = object>(url: string, text: string): Promise<Row[]> {
  const db = openLenientDatabase({ connectionString: url, connections: 1 })
  try {
    return await ask<Row>(db, text)
  } finally {
    await db.close()
  }
}

export function atDatabase(url: string, name: string): string {
  const moved = new URL(url)
  moved.pathname = `/${name}`
  return moved.href
}

interface Place {
  readonly host: string
  readonly port: number
}

/** The coordinator first. */
export async function findServers(url: string): Promise<string[]> {
  const workers = await run<Place>(
    url,
    `SELECT nodename AS host, nodeport AS port FROM pg_dist_node
      WHERE noderole = 'primary' AND groupid > 0 ORDER BY nodeid`,
  )
  if (workers.length === 0)
    throw new Error('CITUS_URL: this Citus has no workers. Add two with citus_add_node.')
  return [url, ...workers.map((place) => atServer(url, place))]
}

function atServer(url: string, { host, port }: Place): string {
  const moved = new URL(url)
  moved.hostname = host
  moved.port = String(port)
  return moved.href
}

/** Empty, and of one Citus. */
export async function createDatabase(url: string, name: string): Promise<void> {
  const servers = await findServers(url)
  for (const server of servers) {
    await run(server, `CREATE DATABASE ${name}`)
    await run(atDatabase(server, name), 'CREATE EXTENSION citus')
  }
  const coordinator = atDatabase(url, name)
  const [first, ...workers] = servers.map((server) => new URL(server))
  await run(coordinator, `SELECT citus_set_coordinator_host('${first!.hostname}', ${first!.port || 5432})`)
  for (const { hostname, port } of workers)
    await run(coordinator, `SELECT citus_add_node('${hostname}', ${port || 5432})`)
}

/** From now on it can be cloned: neither a session nor a daemon of Citus is in it. */
export async function closeTemplate(url: string, name: string): Promise<void> {
  for (const server of await findServers(url)) {
    await run(server, `ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`)
    await run(server, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
  }
}

export async function cloneDatabase(url: string, template: string, name: string): Promise<void> {
  const servers = await findServers(url)
  await Promise.all(
    servers.map((server) => run(server, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`)),
  )
  await run(atDatabase(url, name), 'SELECT set_worker_defaults()')
}

export async function dropDatabase(url: string, name: string): Promise<void> {
  for (const server of await findServers(url))
    await eventually('nobody is in it', () => isDropped(server, name))
}

/** PostgreSQL gives the sessions that it ends five seconds, which on a busy machine are too few. */
async function isDropped(server: string, name: string): Promise<boolean> {
  try {
    await run(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    return true
  } catch (error) {
    if (codeOf(error) !== '55006') throw error
    return false
  }
}

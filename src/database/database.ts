/**
 * The only file that knows `pg`. Statements are named constants beside the feature that owns the table; the driver
 * prepares each once a connection. `Sql` joins the caller's transaction, `Database` opens its own.
 */
import pg from 'pg'

export interface Statement {
  readonly name: string
  readonly text: string
}

export interface Sql {
  query<Row extends object>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>
  /** Any number of statements without values, for migrations. */
  script(text: string): Promise<void>
}

export interface Database extends Sql {
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>
  /** A connection of its own that hears notifications. Resolves when it listens. */
  listen(channel: string, heard: (payload: string) => void, lost: () => void): Promise<Listener>
  /** How busy its connections are. */
  load(): ConnectionLoad
  close(): Promise<void>
}

export interface ConnectionLoad {
  readonly busy: number
  readonly idle: number
  /** Statements that wait for a connection. */
  readonly waiting: number
}

export interface Listener {
  /** Fails when the connection no longer answers. */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface DatabaseOptions {
  readonly connectionString: string
  readonly connections?: number
  readonly connectTimeoutMs?: number
  /** A statement without an answer for so long fails; without end unless given. */
  readonly queryTimeoutMs?: number
}

/** The database is away or refuses connections; the same request may succeed in a moment. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable'
}

export function statement(name: string, text: string): Statement {
  return { name, text }
}

const int8Array = 1016
const parseTexts = pg.types.getTypeParser(int8Array as number)

const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === pg.types.builtins.INT8) return Number
    if (oid === int8Array) return (text: string) => (parseTexts(text) as string[]).map(Number)
    return pg.types.getTypeParser(oid, format as 'text')
  },
} as pg.CustomTypesConfig

export function openDatabase(options: DatabaseOptions): Database {
  const settings = {
    connectionString: options.connectionString,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    application_name: 'countersign',
    types,
    ...(options.queryTimeoutMs !== undefined && { query_timeout: options.queryTimeoutMs }),
  }
  const pool = new pg.Pool({
    ...settings,
    max: options.connections ?? 10,
    idleTimeoutMillis: 60_000,
    onConnect: steadyPlans,
  })
  // A connection that breaks while idle leaves the pool by itself; the next query opens another.
  pool.on('error', () => {})
  // Nor may one that breaks at any other moment end the process: whoever holds it learns of it by its next query.
  pool.on('connect', (client) => client.on('error', () => {}))

  return {
    ...sqlOver(pool),
    transaction: (work) => inTransaction(pool, work),
    listen: (channel, heard, lost) => listen(new pg.Client({ ...settings, keepAlive: true }), channel, heard, lost),
    load: () => ({ busy: pool.totalCount - pool.idleCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => pool.end(),
  }
}

/**
 * Every statement finds its rows by an index, and its plan is made once a connection. Left alone, a plan made while a table was
 * small reads the whole table until somebody analyses it, by when it may have grown a thousandfold.
 */
async function steadyPlans(connection: pg.ClientBase): Promise<void> {
  await connection.query('SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan')
}

function sqlOver(connection: pg.Pool | pg.PoolClient): Sql {
  return {
    async query<Row extends object>({ name, text }: Statement, values: readonly unknown[] = []) {
      try {
        return (await connection.query<Row>({ name, text, values: values as unknown[] })).rows
      } catch (error) {
        throw explain(error)
      }
    },
    async script(text) {
      try {
        await connection.query(text)
      } catch (error) {
        throw explain(error)
      }
    },
  }
}

async function inTransaction<Result>(pool: pg.Pool, work: (sql: Sql) => Promise<Result>): Promise<Result> {
  const connection = await pool.connect().catch((error: unknown) => {
    throw explain(error)
  })
  const sql = sqlOver(connection)
  let broken: Error | undefined
  // A connection that breaks between two statements says so by this event, which unheard would end the process.
  const breaks = (error: Error) => {
    broken = error
  }
  connection.on('error', breaks)
  try {
    await sql.script('BEGIN')
    const result = await work(sql)
    await sql.script('COMMIT')
    return result
  } catch (error) {
    await sql.script('ROLLBACK').catch((rollbackError: Error) => {
      broken = rollbackError
    })
    throw error
  } finally {
    connection.off('error', breaks)
    connection.release(broken)
  }
}

async function listen(
  client: pg.Client,
  channel: string,
  heard: (payload: string) => void,
  lost: () => void,
): Promise<Listener> {
  client.on('notification', (message) => heard(message.payload ?? ''))
  client.on('error', () => {})
  client.on('end', lost)
  try {
    await client.connect()
    await client.query(`LISTEN ${client.escapeIdentifier(channel)}`)
  } catch (error) {
    await client.end().catch(() => {})
    throw explain(error)
  }
  return {
    ping: async () => {
      await client.query('SELECT')
    },
    close: () => client.end(),
  }
}

/** 08 connection, 53 resources, 57P0x shutdown and start-up, 25006 a standby that is not yet primary. */
const unavailableState = /^(08...|53...|57P0[1-5]|25006)$/
const unavailableSystemCode = /^(ECONN|ENOENT|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_AGAIN)/
const unavailableMessage =
  /Connection terminated|timeout exceeded when trying to connect|not queryable|pool after calling end/

function explain(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const code = String((error as { code?: unknown }).code ?? '')
  const away = unavailableState.test(code) || unavailableSystemCode.test(code) || unavailableMessage.test(error.message)
  return away ? new DatabaseUnavailable(`The database is away: ${error.message}`, { cause: error }) : error
}

/** Whether PostgreSQL chose this transaction to end a circle of waiting ones: the same again may succeed. */
export function isDeadlock(error: unknown): boolean {
  return error instanceof Error && (error as { code?: string }).code === '40P01'
}

/** Whether a statement failed on the named unique or check constraint. */
export function violates(error: unknown, constraint: string): boolean {
  return error instanceof Error && (error as { constraint?: string }).constraint === constraint
}

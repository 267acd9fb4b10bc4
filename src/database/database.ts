/**
 * The contract over `pg`. Statements are values beside the feature that owns the table (statement.ts); the
 * driver prepares each once a connection. `Sql` joins the caller's transaction, `Database` opens its own.
 */
import pg from 'pg'
import { Conflict } from '../problem.ts'
import { codeOf, messageOf } from '../text/thrown.ts'
import { copyIn } from './copy.ts'
import { atServer, type Server } from './hosts.ts'
import { isAway, openPool, type Pool, type PoolOptions, type TimedQuery, usualConnections } from './pool.ts'
import { inOrder, type Statement } from './statement.ts'

export interface Sql {
  query<Values, Row extends object>(
    statement: Statement<Values, Row>,
    ...values: ValuesArgument<Values>
  ): Promise<Row[]>
  /** The row of a statement that always gives one; fails where there is none. */
  one<Values, Row extends object>(
    statement: Statement<Values, Row>,
    ...values: ValuesArgument<Values>
  ): Promise<Row>
  /** Any number of statements without values, for migrations. */
  script(text: string): Promise<void>
  /** Statements without values, the last of them a COPY FROM STDIN, and what it reads. */
  copy(text: string, rows: Buffer): Promise<void>
  /** A transaction of its own; within one, joins it: what fails undoes all of it. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>
  /** Done when the transaction is committed, before its caller knows; outside of one, at once. */
  afterCommit(work: (db: Database) => Promise<void>): Promise<void>
}

/** Left out where there are none to give. */
// biome-ignore lint/complexity/noBannedTypes: nothing is required
type ValuesArgument<Values> = {} extends Values ? [values?: NoInfer<Values>] : [values: NoInfer<Values>]

/** A statement with its values, and the rows that it will give. */
export interface Step<Row = object> {
  readonly statement: PreparedStatement
  readonly values: unknown[]
  /** Never there: it carries the type. */
  readonly row?: Row
}

type PreparedStatement = Pick<Statement<never, unknown>, 'name' | 'text'>

export function step<Values, Row extends object>(
  statement: Statement<Values, Row>,
  ...[values]: ValuesArgument<Values>
): Step<Row> {
  return { statement, values: inOrder(statement, values ?? ({} as Values)) }
}

export interface Database extends Sql {
  /**
   * One transaction whose statements need nothing of each other's answers: they leave together, and cost one
   * round trip. Answers the rows of each.
   */
  together<const Rows extends readonly object[]>(steps: StepsOf<Rows>): Promise<RowsOf<Rows>>
  /**
   * A connection of its own that hears notifications. Resolves when it listens, and holds the lock if one is
   * named.
   */
  listen(
    channel: string,
    heard: (payload: string) => void,
    lost: () => void,
    lock?: SessionLock,
  ): Promise<Listener>
  /**
   * Hears the tags of what was changed through this database: when it is committed, and before the caller
   * that changed it knows that it is.
   */
  onChange(heard: (tag: string) => void): void
  /**
   * The same database on another server, such as a worker of a Citus: closed with this one. What finds no
   * connection there is asked here.
   */
  at(server: Server): Database
  /** How busy its connections are. */
  load(): ConnectionLoad
  close(): Promise<void>
}

type StepsOf<Rows extends readonly object[]> = { readonly [Index in keyof Rows]: Step<Rows[Index]> }
type RowsOf<Rows extends readonly object[]> = { -readonly [Index in keyof Rows]: Rows[Index][] }

interface ConnectionLoad {
  readonly busy: number
  readonly idle: number
  /** Statements that wait for a connection. */
  readonly waiting: number
}

/**
 * An advisory lock that others may share. It is held as long as the connection, and so tells whether its
 * process lives.
 */
interface SessionLock {
  readonly kind: number
  readonly number: number
}

export interface Listener {
  /** Ends the connection when it no longer answers. */
  query<Values, Row extends object>(
    statement: Statement<Values, Row>,
    values: NoInfer<Values>,
    timeoutMs: number,
  ): Promise<Row[]>
  ping(answerTimeoutMs: number): Promise<void>
  close(): Promise<void>
}

/** The database is away or refuses connections; the same request may succeed in a moment. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable'
}

/** The database answers, and a worker of its Citus that keeps some parts does not. */
export class WorkerAway extends DatabaseUnavailable {}

/**
 * More waits for the database than it can do soon. One for all: there may be thousands a second, and where it
 * was thrown tells nothing.
 */
export class DatabaseBusy extends DatabaseUnavailable {
  static readonly now = new DatabaseBusy('Too much waits for the database already.')
}

const int8Array: number = 1016
const parseTexts: (text: string) => (string | null)[] = pg.types.getTypeParser(int8Array)

const types: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === pg.types.builtins.INT8) return Number
    if (oid === int8Array) return (text: string) => parseTexts(text).map(numberOrNull)
    return pg.types.getTypeParser(oid, format)
  },
}

const numberOrNull = (text: string | null) => (text === null ? null : Number(text))

export function openDatabase(options: PoolOptions): Database {
  const pool = openPool(options, types)
  const subscribers: ((tag: string) => void)[] = []
  const announce = (tag: string) => {
    for (const heard of subscribers) heard(tag)
  }
  const here: Runner = (work) => onConnection(pool, announce, work)
  let detours = 0
  /** What finds no connection to its own server. One that hangs takes no more than half of those here. */
  const insteadOf: Runner = async (work) => {
    if (detours >= (options.connections ?? usualConnections) / 2) throw DatabaseBusy.now
    detours++
    try {
      return await here(work)
    } finally {
      detours--
    }
  }
  const elsewhere = new Map<string, { readonly pool: Pool; readonly db: Database }>()
  function openAt(server: Server) {
    const connectionString = atServer(options.connectionString, server)
    const there = openPool({ ...options, connectionString }, types)
    const run: Runner = (work) => onConnection(there, announce, work, () => insteadOf(work))
    return { pool: there, db: databaseOver(run, { ...ends, load: there.load }) }
  }
  const ends: DatabaseEnds = {
    listen: (...asked) => listen(pool, ...asked),
    onChange(heard) {
      subscribers.push(heard)
    },
    at(server) {
      const key = `${server.host}:${server.port}`
      const opened = elsewhere.get(key) ?? openAt(server)
      elsewhere.set(key, opened)
      return opened.db
    },
    load: pool.load,
    async close() {
      await Promise.all(
        [pool, ...[...elsewhere.values()].map((each) => each.pool)].map((each) => each.close()),
      )
    },
  }
  return databaseOver(here, ends)
}

type Runner = <Result>(work: Work<Result>) => Promise<Result>
type DatabaseEnds = Pick<Database, 'listen' | 'onChange' | 'at' | 'load' | 'close'>

function databaseOver(run: Runner, ends: DatabaseEnds): Database {
  const db: Database = {
    query: (statement, ...values) => run((connection) => take(connection, step(statement, ...values))),
    one: (statement, ...values) => run((connection) => takeOne(connection, step(statement, ...values))),
    script: (text) => run((connection) => runScript(connection, text)),
    copy: (text, rows) => run((connection) => runCopy(connection, text, rows)),
    together: (steps) => run((connection) => allTogether(connection, steps)),
    async transaction(work) {
      const later: AfterCommit[] = []
      const result = await run((connection) => inTransaction(connection, later, work))
      for (const each of later) await each(db)
      return result
    },
    afterCommit: (work) => work(db),
    ...ends,
  }
  return db
}

type AfterCommit = (db: Database) => Promise<void>

/** Resolves when what it changed is committed, and fails when nothing is. */
type Work<Result> = (connection: pg.PoolClient) => Promise<Result>

/** The notices by which triggers say what a statement has changed (`announce` in the migrations). */
const announcement = 'TOLD1'

/**
 * A connection that failed in any way but by refusing a statement is not used again. Its changes are
 * announced before the caller can know that the work succeeded.
 */
async function onConnection<Result>(
  pool: Pool,
  announce: (tag: string) => void,
  work: Work<Result>,
  instead?: () => Promise<Result>,
): Promise<Result> {
  if (pool.isCrowded) throw DatabaseBusy.now
  let connection: pg.PoolClient
  try {
    connection = await pool.acquire()
  } catch (error) {
    if (instead) return instead()
    throw explain(error)
  }
  let broken: Error | undefined
  // A connection that breaks between two statements says so by this event, which unheard would end the
  // process.
  const breaks = (error: Error) => {
    broken = error
  }
  const tags = new Set<string>()
  const tells = ({ code, message }: { code: string | undefined; message: string | undefined }) => {
    if (code === announcement && message !== undefined) tags.add(message)
  }
  connection.on('error', breaks)
  connection.on('notice', tells)
  try {
    const result = await work(connection)
    for (const tag of tags) announce(tag)
    return result
  } catch (error) {
    if (error instanceof DatabaseUnavailable) {
      broken = error
      pool.consider(error.cause, connection)
    }
    throw error
  } finally {
    connection.off('error', breaks)
    connection.off('notice', tells)
    connection.release(broken)
  }
}

/** Within a transaction. */
function sqlOver(connection: pg.PoolClient, later: AfterCommit[]): Sql {
  const sql: Sql = {
    query: (statement, ...values) => take(connection, step(statement, ...values)),
    one: (statement, ...values) => takeOne(connection, step(statement, ...values)),
    script: (text) => runScript(connection, text),
    copy: (text, rows) => runCopy(connection, text, rows),
    transaction: (work) => work(sql),
    async afterCommit(work) {
      later.push(work)
    },
  }
  return sql
}

async function runScript(connection: pg.PoolClient, text: string): Promise<void> {
  try {
    await connection.query(text)
  } catch (error) {
    throw explain(error)
  }
}

async function runCopy(connection: pg.PoolClient, text: string, rows: Buffer): Promise<void> {
  try {
    await copyIn(connection, text, rows)
  } catch (error) {
    throw explain(error)
  }
}

async function take<Row extends object>(
  connection: pg.PoolClient,
  { statement, values }: Step<Row>,
): Promise<Row[]> {
  try {
    const { name, text } = statement
    return (await connection.query<Row>({ name, text, values })).rows
  } catch (error) {
    throw explain(error)
  }
}

async function takeOne<Row extends object>(connection: pg.PoolClient, asked: Step<Row>): Promise<Row> {
  const [row] = await take(connection, asked)
  if (!row) throw new Error(`${asked.statement.name || asked.statement.text} gave no row.`)
  return row
}

const begin: Step = { statement: { name: '', text: 'BEGIN' }, values: [] }
const commit: Step = { statement: { name: '', text: 'COMMIT' }, values: [] }
const rollback: Step = { statement: { name: '', text: 'ROLLBACK' }, values: [] }

/** After one that fails the server refuses the others, and what would be committed is undone. */
async function allTogether<const Rows extends readonly object[]>(
  connection: pg.PoolClient,
  steps: StepsOf<Rows>,
): Promise<RowsOf<Rows>> {
  const all = steps as readonly Step[]
  // One statement is a transaction by itself.
  const isLone = all.length === 1
  const inTurn = isLone ? all : [begin, ...all, commit]
  const answers = await Promise.allSettled(inTurn.map((each) => take(connection, each)))
  const rows = answers.map((answer) => {
    if (answer.status === 'rejected') throw answer.reason
    return answer.value
  })
  return (isLone ? rows : rows.slice(1, -1)) as RowsOf<Rows>
}

/** BEGIN is not awaited: it leaves with the first statement, which fails if BEGIN does. */
async function inTransaction<Result>(
  connection: pg.PoolClient,
  later: AfterCommit[],
  work: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  const sql = sqlOver(connection, later)
  const begun = take(connection, begin)
  // Awaited below, where its failure is told.
  begun.catch(() => {})
  try {
    const result = await work(sql)
    await begun
    await take(connection, commit)
    return result
  } catch (error) {
    // Where the connection is the trouble, the server undoes the transaction when it ends.
    if (!(error instanceof DatabaseUnavailable)) await take(connection, rollback)
    throw error
  }
}

async function listen(
  pool: Pool,
  channel: string,
  heard: (payload: string) => void,
  lost: () => void,
  lock?: SessionLock,
): Promise<Listener> {
  const client = await pool.connectAlone().catch((error: unknown) => {
    throw explain(error)
  })
  client.on('notification', (message) => heard(message.payload ?? ''))
  client.on('end', lost)
  const listening = `LISTEN ${client.escapeIdentifier(channel)}`
  try {
    if (lock) await client.query('SELECT pg_advisory_lock_shared($1, $2)', [lock.kind, lock.number])
    await client.query(listening)
  } catch (error) {
    // One that broke cannot end in order: what is told is why.
    await client.end().catch(() => {})
    throw explain(error)
  }
  async function ask<Row extends object>(question: pg.QueryConfig, answerTimeoutMs: number): Promise<Row[]> {
    const timed: TimedQuery = { ...question, query_timeout: answerTimeoutMs }
    try {
      return (await client.query<Row>(timed)).rows
    } catch (error) {
      const explained = explain(error)
      if (explained instanceof DatabaseUnavailable) await client.end()
      throw explained
    }
  }
  return {
    query: (asked, values, timeoutMs) =>
      ask({ name: asked.name, text: asked.text, values: inOrder(asked, values) }, timeoutMs),
    async ping(answerTimeoutMs) {
      await ask({ text: listening }, answerTimeoutMs)
    },
    close: () => client.end(),
  }
}

function explain(error: unknown): unknown {
  if (codeOf(error) === ofAnotherKind) return new Conflict(messageOf(error))
  if (!isAway(error)) return error
  // Said by the server that was asked: the connection that failed is one of its own.
  const isOfWorker = error instanceof pg.DatabaseError && codeOf(error)?.startsWith('08')
  return isOfWorker
    ? new WorkerAway(`A worker of the database is away: ${messageOf(error)}`, { cause: error })
    : new DatabaseUnavailable(`The database is away: ${messageOf(error)}`, { cause: error })
}

/** Said by triggers of a person whom an act is not for (migrations/0002-people.sql), in words for the caller. */
const ofAnotherKind = 'KIND1'

/** Whether PostgreSQL chose this transaction to end a circle of waiting ones: the same again may succeed. */
function isDeadlock(error: unknown): boolean {
  return codeOf(error) === '40P01'
}

/** Whether others held what a statement needed, for too long or in a circle. */
export function isBlocked(error: unknown): boolean {
  return isDeadlock(error) || codeOf(error) === '55P03'
}

/** Whether a statement failed on the named unique or check constraint. */
export function violates(error: unknown, constraint: string): boolean {
  return error instanceof Error && 'constraint' in error && error.constraint === constraint
}

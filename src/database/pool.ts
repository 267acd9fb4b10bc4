/**
 * Connections to the primary, wherever it is now. A server that is away, or is a standby, gives way to the
 * next of those named. When a statement gets no answer, every connection of that moment has to prove itself
 * before it is used again; when one of them fails to, all are left behind.
 */
import pg from 'pg'
import { codeOf } from '../text/thrown.ts'
import { parseHosts } from './hosts.ts'
import { printSession, type SessionLimits } from './session.ts'
import { statementLimitMs } from './statement-limit.ts'

export interface PoolOptions extends SessionLimits {
  readonly connectionString: string
  readonly connections?: number | undefined
  readonly connectTimeoutMs?: number | undefined
}

export interface Pool {
  acquire(): Promise<pg.PoolClient>
  /** Whether so many callers wait for a connection that the next one would wait too long. */
  readonly isCrowded: boolean
  /** A connection outside the pool, for this caller alone. */
  connectAlone(): Promise<pg.Client>
  /** Call it when a statement failed: the reason may lie in every connection. */
  consider(error: unknown, connection: pg.PoolClient): void
  load(): { readonly busy: number; readonly idle: number; readonly waiting: number }
  close(): Promise<void>
}

/** A question that waits so long for its answer: the driver takes it, and its types do not say so. */
export type TimedQuery = pg.QueryConfig & Pick<pg.ClientConfig, 'query_timeout'>

export const usualConnections = 10
const waitingAtMost = 1_000

/** A connection that is well proves it in a fraction of this. */
const proofTimeoutMs = 1_000

const askStandby = 'SELECT pg_is_in_recovery() AS "isStandby"'

/** The server is a standby, and so not the one that is wanted. */
export class NotPrimary extends Error {
  override readonly name = 'NotPrimary'
}

export function openPool(options: PoolOptions, types: pg.CustomTypesConfig): Pool {
  const { connections = usualConnections, connectTimeoutMs = statementLimitMs } = options
  const hosts = parseHosts(options.connectionString)
  let place = 0
  /** Moves on whenever a statement gets no answer. */
  let doubts = 0
  /** Moves on whenever all connections are left behind. */
  let era = 0
  const settings = {
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: options.answerTimeoutMs,
    // What is asked without waiting for the answer before it leaves at once, and is answered in its order.
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    application_name: 'countersign',
    types,
  }

  /** A connection to the server that was the right one when it was opened. */
  class PrimaryClient extends pg.Client {
    readonly era = era
    readonly #place = place
    #proven = doubts

    constructor(config: pg.ClientConfig = {}) {
      super({ ...config, connectionString: hosts[place]! })
    }

    override connect(): Promise<pg.Client>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      if (callback) {
        super.connect((error: Error) => {
          if (error) this.turnAway()
          callback(error)
        })
        return undefined
      }
      return this.#connectOrTurn()
    }

    async #connectOrTurn(): Promise<pg.Client> {
      try {
        return await super.connect()
      } catch (error) {
        this.turnAway()
        throw error
      }
    }

    /** The next connection goes to the next server, unless another has turned there already. */
    turnAway(): void {
      if (this.#place === place) place = (place + 1) % hosts.length
    }

    /** Asks for a sign of life if there has been doubt since the last one. */
    async prove(): Promise<void> {
      if (this.#proven === doubts) return
      const now = doubts
      const question: TimedQuery = { text: 'SELECT', query_timeout: proofTimeoutMs }
      await this.query(question)
      this.#proven = now
    }

    async prepare(): Promise<void> {
      const text = `${printSession(options)}; ${askStandby}`
      const question: TimedQuery = { text, query_timeout: connectTimeoutMs }
      // Several statements are answered by a list, which the driver's types do not say.
      const results = [await this.query<{ isStandby: boolean }>(question)].flat()
      if (results.at(-1)?.rows[0]?.isStandby === false) return
      this.turnAway()
      throw new NotPrimary('The server is a standby.')
    }
  }

  function makePool(): pg.Pool {
    const config = {
      ...settings,
      Client: PrimaryClient,
      max: connections,
      idleTimeoutMillis: 60_000,
      // What a session piles up in its caches ends with it.
      maxLifetimeSeconds: 3_600,
      onConnect: (client: pg.ClientBase) => asPrimary(client).prepare(),
    }
    const made = new pg.Pool(config)
    // A connection that breaks while idle leaves the pool by itself; the next query opens another.
    made.on('error', () => {})
    // Nor may a connection that breaks at any other moment end the process: its holder learns of it by its
    // next query.
    made.on('connect', (client) => client.on('error', () => {}))
    return made
  }
  let current = makePool()
  const former = new Set<Promise<void>>()
  /** All connections of that one's time, once. */
  function leaveBehind(connection: PrimaryClient): void {
    if (connection.era !== era) return
    era++
    const ending = current.end().finally(() => former.delete(ending))
    former.add(ending)
    current = makePool()
  }

  function asPrimary(connection: pg.ClientBase): PrimaryClient {
    if (!(connection instanceof PrimaryClient)) throw new Error('The connection is none of this pool.')
    return connection
  }

  return {
    get isCrowded() {
      return current.waitingCount >= waitingAtMost
    },
    async acquire() {
      for (let untried = hosts.length; ; ) {
        const connection = await current.connect().catch((error: unknown) => {
          if (--untried === 0 || !isOfThisServer(error)) throw error
        })
        if (!connection) continue
        const client = asPrimary(connection)
        try {
          await client.prove()
          return connection
        } catch (error) {
          connection.release(error instanceof Error ? error : true)
          leaveBehind(client)
        }
      }
    },
    async connectAlone() {
      const client = new PrimaryClient(settings)
      client.on('error', () => {})
      try {
        await client.connect()
        await client.prepare()
        return client
      } catch (error) {
        // One that broke cannot end in order: what is told is why.
        await client.end().catch(() => {})
        throw error
      }
    },
    consider(error, connection) {
      if (isUnanswered(error)) doubts++
      if (isReadOnly(error)) leaveBehind(asPrimary(connection))
    },
    load: () => ({
      busy: current.totalCount - current.idleCount,
      idle: current.idleCount,
      waiting: current.waitingCount,
    }),
    async close() {
      await Promise.all([current.end(), ...former])
    },
  }
}

/**
 * 08 connection, 53 resources, 57014 took too long, 57P0x shutdown and start-up, 25006 a standby that is not
 * yet primary.
 */
const unavailableState = /^(08...|53...|57014|57P0[1-5]|25006|25P03)$/
const unavailableSystemCode = /^(ECONN|ENOENT|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_AGAIN)/
const unavailableMessage =
  /Connection terminated|timeout expired|not queryable|pool after calling end|Query read timeout/
const waitedInVain = /timeout exceeded when trying to connect/

/** Whether the same request may succeed in a moment. */
export function isAway(error: unknown): boolean {
  return isOfThisServer(error) || (error instanceof Error && waitedInVain.test(error.message))
}

function isOfThisServer(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = codeOf(error) ?? ''
  return (
    error instanceof NotPrimary ||
    unavailableState.test(code) ||
    unavailableSystemCode.test(code) ||
    unavailableMessage.test(error.message)
  )
}

function isUnanswered(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

/** The server was the primary when its connections were opened, and is no more. */
function isReadOnly(error: unknown): boolean {
  return codeOf(error) === '25006'
}

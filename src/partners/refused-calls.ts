/**
 * A partner's last refused calls, for its developers. Only a refusal touches it: what is answered well costs
 * nothing. Refusals are gathered in memory and written once a second, a bounded number of each caller, so
 * that a flood of them is one statement. Durable, because partners ask any node, also after a restart. What
 * cannot be written is lost: no request waits for it. Every caller has a share, here and in what is kept: the
 * newest of each stay before the second newest of any.
 */
import type { Logger } from 'pino'
import { inTurn } from '../concurrency/in-turn.ts'
import { DatabaseUnavailable, type Sql } from '../database/database.ts'
import { cut } from '../text/cut.ts'
import type { Environment } from '../vocabulary/environment.ts'
import * as table from './refused-calls.sql.ts'

const keptEach = 100
/** Between two writings. */
const gatheredOfCaller = 20
const gatheredAtMost = 1_000
const textMaxCharacters = 1_000

export interface RefusedCall {
  readonly environment: Environment
  /** Undefined where only a client's id tells whose call it was. */
  readonly branchId: number | undefined
  readonly clientId: string | undefined
  /** The caller only said who it was, and could not prove it. */
  readonly isClaimed: boolean
  /** The owner of a share: the client that proved itself, or the address of one that did not. */
  readonly caller: string
  readonly at: Date
  readonly method: string
  readonly route: string
  readonly status: number
  readonly code: string
  readonly description: string
  /** What was sent, as far as it may be written down. */
  readonly sent: string
  readonly requestId: string
}

export interface RefusedCalls {
  record(call: RefusedCall): void
  /** Answers when all that was recorded before is written. */
  flush(): Promise<void>
}

export function openRefusedCalls(db: Sql, log: Logger): RefusedCalls {
  let proven = openGathering()
  let claimed = openGathering()
  return {
    record(call) {
      const gathering = call.isClaimed ? claimed : proven
      gathering.add(call)
    },
    flush: inTurn(async () => {
      const calls = [...proven.calls(), ...claimed.calls()]
      proven = openGathering()
      claimed = openGathering()
      if (calls.length > 0) await write(db, log, calls.map(asWritten))
    }),
  }
}

interface CallBuffer {
  add(call: RefusedCall): void
  calls(): RefusedCall[]
}

/** Full, it makes room for a caller with few entries at the cost of the caller with the most. */
function openGathering(): CallBuffer {
  const shares = new Map<string, RefusedCall[]>()
  let size = 0
  const makeRoom = (mine: number) => {
    if (shares.size >= gatheredAtMost) return false
    const largest = [...shares.values()].reduce((most, each) => (each.length > most.length ? each : most))
    if (largest.length <= mine + 1) return false
    largest.pop()
    size--
    return true
  }
  return {
    add(call) {
      const share = shares.get(call.caller) ?? []
      if (share.length >= gatheredOfCaller) return
      if (size >= gatheredAtMost && !makeRoom(share.length)) return
      shares.set(call.caller, share)
      share.push(call)
      size++
    },
    calls: () => [...shares.values()].flat(),
  }
}

/**
 * Whatever is long enough to be a secret is not written down, wherever it stands: people put them in the
 * oddest places.
 */
function asWritten(call: RefusedCall): RefusedCall {
  const mask = (text: string) =>
    text.replace(/[\w-]{20,}/g, (word) => (word === call.clientId ? word : '••••'))
  const print = (text: string) => cut(mask(text), textMaxCharacters)
  return {
    ...call,
    description: print(call.description),
    sent: print(call.sent),
    caller: cut(call.caller, 100),
  }
}

/** A record that cannot be written is looked for by halves, and lost alone. */
async function write(sql: Sql, log: Logger, calls: readonly RefusedCall[]): Promise<void> {
  try {
    await writeTogether(sql, calls)
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error
    const [first, ...others] = calls
    if (first && others.length === 0)
      return log.warn({ err: error, route: first.route }, 'a failed API call could not be kept')
    const half = calls.length >> 1
    await write(sql, log, calls.slice(0, half))
    await write(sql, log, calls.slice(half))
  }
}

async function writeTogether(sql: Sql, calls: readonly RefusedCall[]): Promise<void> {
  const written = await sql.query(table.insertRefusedCalls, { calls: JSON.stringify(calls) })
  const rings = new Map(written.map((ring) => [`${ring.branchId} ${ring.environment} ${ring.claimed}`, ring]))
  for (const { branchId, environment, claimed } of rings.values()) {
    await sql.query(table.trimRefusedCalls, { branchId, environment, claimed, kept: keptEach })
  }
}

export interface KeptRefusedCall
  extends Omit<RefusedCall, 'environment' | 'branchId' | 'clientId' | 'caller'> {
  readonly id: number
  readonly clientId: string | null
}

export function listRefusedCalls(
  sql: Sql,
  branchId: number,
  environment: Environment,
  most: number,
): Promise<KeptRefusedCall[]> {
  return sql.query(table.selectRefusedCalls, { branchId, environment, most })
}

export interface RefusedCount {
  readonly calls: number
  readonly partners: number
}

/** Of the newest so many, of all partners: those since a moment. */
export async function countRefusedCalls(sql: Sql, since: Date, lookedAt: number): Promise<RefusedCount> {
  return sql.one(table.countRefusedCalls, { since, lookedAt })
}

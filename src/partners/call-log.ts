/**
 * Writes down the calls of partners' clients, off their path: a call costs a look-up and a push, and once a
 * second all that came is one statement. Each caller has a pace; what is beyond it has no line of its own, but
 * is counted, and the newest of it is written once a minute with the count. Calls that failed have a pace
 * beside those that did not, and calls that prove nothing have one beside both: a flood of one kind hides none
 * of the others. What is in memory when a process dies is lost.
 */
import type { Logger } from 'pino'
import { type Clock, minute, second } from '../clock.ts'
import { inTurn } from '../concurrency/in-turn.ts'
import { DatabaseUnavailable, type Sql } from '../database/database.ts'
import type { Environment } from '../vocabulary/environment.ts'
import * as table from './calls.sql.ts'
import { slotOf } from './calls.ts'
import type { FailureCause } from './failure-causes.ts'

/** Nothing in it is text of the caller's own but the request's id, and the path where nothing is there. */
export interface Call {
  readonly environment: Environment
  /** Undefined where only a client's id tells whose call it was. */
  readonly branchId: number | undefined
  /** Undefined for a member, by a personal token. */
  readonly clientId: string | undefined
  /** The caller only said which client it was, and proved nothing. */
  readonly isClaimed: boolean
  /** Where a caller that proved nothing comes from; not written down. */
  readonly network: string
  readonly at: Date
  readonly method: string
  readonly route: string
  readonly status: number
  readonly durationMs: number
  readonly requestId: string
  readonly failure: CallFailure | undefined
  /** What will be demanded of the client; undefined where it met all. */
  readonly unmet: readonly string[] | undefined
}

export interface CallFailure {
  readonly code: string
  readonly cause: FailureCause
  readonly fields: readonly string[]
}

export interface CallLog {
  note(call: Call): void
  /** Answers when every line of before is written. */
  flush(): Promise<void>
}

/** Why a call has no line of its own. */
export type LeftOut = 'sampled' | 'lost'

interface Pace {
  readonly everyMs: number
  readonly atOnce: number
}

/** Of a client, or of the members of one partner: 500 at once, and 43,200 a day. */
const ofCaller: Pace = { everyMs: 2 * second, atOnce: 500 }
/** Of all who say that they are one client, and of each network that says so of any. */
const ofClaimed: Pace = { everyMs: 2 * second, atOnce: 2_000 }
const ofNetwork: Pace = { everyMs: 5 * minute, atOnce: 30 }

/** Between two writings. */
const linesAtMost = 5_000
const callersAtMost = 10_000
const toldEveryMs = minute
/** Longer than a network that is at its pace waits for its next line. */
const forgottenAfterMs = 2 * ofNetwork.everyMs

interface Caller {
  /** When it may write as much at once again as its pace allows. */
  restedAtMs: number
  leftOut: number
  newest: Call | undefined
  toldAtMs: number
}

export function openCallLog(
  db: Sql,
  clock: Clock,
  log: Logger,
  tell: (why: LeftOut, calls: number) => void = () => {},
): CallLog {
  const proven = { done: new Map<string, Caller>(), failed: new Map<string, Caller>() }
  const claimed = { done: new Map<string, Caller>(), failed: new Map<string, Caller>() }
  const networks = new Map<string, Caller>()
  const lines: Line[] = []

  function note(call: Call): void {
    const atMs = call.at.getTime()
    const isWelcome =
      lines.length < linesAtMost && (!call.isClaimed || passes(networks, call.network, ofNetwork, atMs))
    const { done, failed } = call.isClaimed ? claimed : proven
    const group = call.failure ? failed : done
    const key = keyOf(call)
    const caller = isWelcome ? open(group, key) : group.get(key)
    if (!caller) tell('lost', 1)
    else if (isWelcome && take(caller, call.isClaimed ? ofClaimed : ofCaller, atMs)) {
      lines.push({ ...call, leftOut: 0 })
    } else {
      caller.leftOut++
      caller.newest = call
    }
  }

  /** The newest of what was left out, with the number of the others. */
  function tellOfGaps(nowMs: number): void {
    for (const group of [proven.done, proven.failed, claimed.done, claimed.failed, networks])
      for (const [key, caller] of group) {
        const { newest, leftOut, toldAtMs, restedAtMs } = caller
        if (!newest) {
          if (nowMs - Math.max(toldAtMs, restedAtMs) > forgottenAfterMs) group.delete(key)
        } else if (nowMs - toldAtMs >= toldEveryMs && lines.length < linesAtMost) {
          lines.push({ ...newest, leftOut: leftOut - 1 })
          tell('sampled', leftOut - 1)
          caller.newest = undefined
          caller.leftOut = 0
          caller.toldAtMs = nowMs
        }
      }
  }

  /** A line that cannot be written is looked for by halves, and lost alone. */
  async function write(written: readonly Line[], slot: number): Promise<void> {
    try {
      await db.query(table.insertCalls, { calls: JSON.stringify(written.map(print)), slot })
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error
      const [first] = written
      if (first && written.length === 1) {
        tell('lost', 1)
        log.warn({ err: error, route: first.route }, 'an API call could not be written down')
      } else {
        await write(written.slice(0, written.length >> 1), slot)
        await write(written.slice(written.length >> 1), slot)
      }
    }
  }

  return {
    note,
    flush: inTurn(async () => {
      const now = clock.now()
      tellOfGaps(now.getTime())
      const written = lines.toSorted((one, other) => one.at.getTime() - other.at.getTime())
      // While the database is away they are kept, and what finds no room meanwhile is counted.
      if (written.length > 0) await write(written, slotOf(now))
      lines.splice(0, written.length)
    }),
  }
}

type Line = Call & { readonly leftOut: number }

function print({ failure, network: _, ...line }: Line): object {
  return { ...line, code: failure?.code, cause: failure?.cause, fields: failure?.fields ?? [] }
}

/** A client has one site. Its id is a string that is there already: this is done for each call. */
function keyOf({ clientId, branchId, environment }: Call): string {
  return clientId ?? `${branchId} ${environment}`
}

function open(callers: Map<string, Caller>, key: string): Caller | undefined {
  const known = callers.get(key)
  if (known || callers.size >= callersAtMost) return known
  const caller = { restedAtMs: 0, leftOut: 0, newest: undefined, toldAtMs: Number.NEGATIVE_INFINITY }
  callers.set(key, caller)
  return caller
}

function passes(callers: Map<string, Caller>, key: string, pace: Pace, atMs: number): boolean {
  const caller = open(callers, key)
  return caller !== undefined && take(caller, pace, atMs)
}

/** A token bucket in one number. */
function take(caller: Caller, { everyMs, atOnce }: Pace, atMs: number): boolean {
  const fromMs = Math.max(caller.restedAtMs, atMs)
  if (fromMs - atMs > everyMs * (atOnce - 1)) return false
  caller.restedAtMs = fromMs + everyMs
  return true
}

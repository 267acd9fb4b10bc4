/**
 * A partner's last refused calls, for whoever wonders why. Only a refusal touches it: what is answered well costs nothing. Refusals
 * are gathered in memory and written once a second, a bounded number of each client, so that a flood of them is one statement. Durable,
 * because partners ask any node, also after a restart. What cannot be written is lost: nobody's request waits for it.
 */
import type { Database, Sql } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import * as table from './refused-calls.sql.ts'

const keptEach = 100
/** Between two writings. */
const gatheredOfClient = 20
const gatheredAtMost = 1_000

export interface RefusedCall {
  readonly environment: Environment
  /** Undefined where only a client's id tells whose call it was. */
  readonly branchId: number | undefined
  readonly clientId: string | undefined
  /** The caller only said who it was, and could not prove it. */
  readonly isClaimed: boolean
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

export interface FlightRecorder {
  record(call: RefusedCall): void
  flush(): Promise<void>
}

export function openFlightRecorder(db: Database): FlightRecorder {
  let gathered: RefusedCall[] = []
  let counts = new Map<string, number>()
  return {
    record(call) {
      const key = `${call.branchId} ${call.clientId} ${call.isClaimed}`
      const count = (counts.get(key) ?? 0) + 1
      if (count > gatheredOfClient || gathered.length >= gatheredAtMost) return
      counts.set(key, count)
      gathered.push(withoutSecrets(call))
    },
    async flush() {
      if (gathered.length === 0) return
      const calls = gathered
      gathered = []
      counts = new Map()
      await write(db, calls)
    },
  }
}

/** Whatever is long enough to be a secret is not written down, wherever it stands: people put them in the oddest places. */
function withoutSecrets(call: RefusedCall): RefusedCall {
  const mask = (text: string) => text.replace(/[\w-]{20,}/g, (word) => (word === call.clientId ? word : '••••'))
  return { ...call, description: mask(call.description), sent: mask(call.sent) }
}

interface Ring {
  readonly branch_id: number
  readonly environment: Environment
  readonly claimed: boolean
}

async function write(sql: Sql, calls: readonly RefusedCall[]): Promise<void> {
  const written = await sql.query<Ring>(table.insertRefusedCalls, [JSON.stringify(calls.map(asRow))])
  const rings = new Map(written.map((ring) => [`${ring.branch_id} ${ring.environment} ${ring.claimed}`, ring]))
  for (const { branch_id, environment, claimed } of rings.values()) {
    await sql.query(table.trimRefusedCalls, [branch_id, environment, claimed, keptEach])
  }
}

function asRow({ branchId, clientId, isClaimed, requestId, ...rest }: RefusedCall) {
  return { ...rest, branch_id: branchId, client_id: clientId, claimed: isClaimed, request_id: requestId }
}

export interface RecordedCall
  extends Omit<RefusedCall, 'branchId' | 'clientId' | 'isClaimed' | 'requestId' | 'environment'> {
  readonly id: number
  readonly claimed: boolean
  readonly client_id: string | null
  readonly request_id: string
}

export function listRefusedCalls(
  sql: Sql,
  branchId: number,
  environment: Environment,
  most: number,
): Promise<RecordedCall[]> {
  return sql.query<RecordedCall>(table.selectRefusedCalls, [branchId, environment, most])
}

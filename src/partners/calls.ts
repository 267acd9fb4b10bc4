/**
 * The API calls of a partner's clients, of the last 24 hours, for its developers and for operators. The log of
 * `call-log.ts` writes them.
 */
import { after, day } from '../clock.ts'
import { isBlocked, type Sql } from '../database/database.ts'
import type { RowOf } from '../database/statement.ts'
import type { Environment } from '../vocabulary/environment.ts'
import * as table from './calls.sql.ts'
import type { Client } from './client.ts'

export type KeptCall = RowOf<typeof table.selectCall>

export interface CallFilter {
  readonly onlyFailed: boolean
  /** Those that FAPI 2.0 would refuse. */
  readonly onlyUnmet?: boolean | undefined
  readonly clientId?: string | undefined
  readonly method?: string | undefined
  /** How the route begins. */
  readonly route?: string | undefined
  readonly status?: { readonly from: number; readonly to: number } | undefined
  /** What is older than this one. */
  readonly before?: Pick<KeptCall, 'at' | 'id'> | undefined
}

interface Owner {
  readonly branchId: number
  readonly environment: Environment
}

/** Newest first. */
export function listCalls(
  sql: Sql,
  { branchId, environment }: Owner,
  { onlyFailed, onlyUnmet, clientId, method, route, status, before }: CallFilter,
  now: Date,
  most: number,
): Promise<KeptCall[]> {
  const values = {
    ...{ branchId, environment, since: keptSince(now), clientId, method, route, most },
    ...{ beforeAt: before?.at ?? ('infinity' as const), beforeId: before?.id ?? 0 },
    ...{ statusFrom: status?.from ?? 0, statusTo: status?.to ?? 999 },
  }
  if (onlyUnmet) return sql.query(table.selectUnmetCalls, { ...values, onlyFailed })
  return sql.query(onlyFailed ? table.selectFailedCalls : table.selectCalls, values)
}

export type UnmetCount = RowOf<typeof table.countUnmet>

/** What FAPI 2.0 would have refused of a client's calls that are listed. */
export function countUnmet(
  sql: Sql,
  { id: clientId, branchId, environment }: Pick<Client, 'id' | 'branchId' | 'environment'>,
  now: Date,
): Promise<UnmetCount[]> {
  return sql.query(table.countUnmet, { branchId, environment, clientId, since: keptSince(now) })
}

export async function findCall(
  sql: Sql,
  branchId: number,
  id: number,
  now: Date,
): Promise<KeptCall | undefined> {
  const [found] = await sql.query(table.selectCall, { branchId, id, since: keptSince(now) })
  return found
}

/**
 * Those that had this request id, newest first: of one partner on one site, or of all. Callers choose the ids
 * of their requests, so one id may have several.
 */
export function findCallsByRequest(
  sql: Sql,
  requestId: string,
  owner: Owner | undefined,
  now: Date,
  most: number,
): Promise<KeptCall[]> {
  const { branchId, environment } = owner ?? {}
  const values = { requestId, branchId, environment, since: keptSince(now), most }
  return sql.query(table.selectCallsByRequest, values)
}

export interface FailedCount {
  readonly calls: number
  readonly partners: number
}

/** Of the newest so many lines, of all partners: those since a moment. */
export function countFailedCalls(sql: Sql, since: Date, lookedAt: number): Promise<FailedCount> {
  return sql.one(table.countFailedCalls, { since, lookedAt })
}

function keptSince(now: Date): Date {
  return after(now, -day)
}

/** Today's table of the ring. */
export function slotOf(now: Date): number {
  return Math.floor(now.getTime() / day) % 3
}

/** Tomorrow's: it holds the day before yesterday. While somebody reads it, it is left for the next turn. */
export async function emptyNextCalls(sql: Sql, now: Date): Promise<void> {
  await sql.query(table.emptyCalls, { slot: slotOf(after(now, day)) }).catch((error: unknown) => {
    if (!isBlocked(error)) throw error
  })
}

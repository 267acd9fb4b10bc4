/**
 * What a source says is applied: by one function of the database, whichever way it came, with all that it
 * entails.
 */
import type { Act } from '../audit/audit.ts'
import { after, day } from '../clock.ts'
import { type Sql, violates } from '../database/database.ts'
import { Conflict, Invalid } from '../problem.ts'
import { codeOf, messageOf } from '../text/thrown.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { unknownSource } from '../vocabulary/source.ts'
import { type MergeResult, outcomes, type RecordOutcome } from './outcomes.ts'
import { deleteExpired, mergeRecords } from './provisioning.sql.ts'
import type { SourceRecord } from './record.ts'

export interface Origin {
  readonly source: string
  readonly environment: Environment
}

/**
 * What the log says of who acts, beside name and time; `subject` is what the entry of several records is
 * about, unless it is their source.
 */
export function printHow({ by: { address, requestId } }: Act, subject?: string): object {
  return { address, requestId, subject }
}

/** Each with its line. All that are without fault are applied, and what changed is in the log. */
export async function mergeAll(
  sql: Sql,
  origin: Origin,
  records: readonly SourceRecord[],
  act: Act,
  subject?: string,
): Promise<MergeResult> {
  const { source, environment } = origin
  const values = {
    source,
    environment,
    records: JSON.stringify(records),
    actor: act.by.name,
    moment: act.at,
    how: printHow(act, subject),
  }
  return (await sql.one(mergeRecords, values)).merged
}

/** One record, at once; what came of it. */
export async function provision(
  db: Sql,
  origin: Origin,
  record: SourceRecord,
  act: Act,
): Promise<RecordOutcome> {
  try {
    return await db.transaction((sql) => applyOne(sql, origin, record, act))
  } catch (error) {
    throw explain(error, origin)
  }
}

async function applyOne(sql: Sql, origin: Origin, record: SourceRecord, act: Act): Promise<RecordOutcome> {
  const merged = await mergeAll(sql, origin, [{ ...record, line: 1 }], act)
  if (merged.faults.length > 0)
    throw new Invalid(merged.faults.map(({ field, problem }) => ({ field, problem })))
  return outcomes.find((each) => merged[each] > 0) ?? 'unchanged'
}

/** SQLSTATE: there is no such source, or role. */
export const undefinedObject = '42704'

/** Two transactions gave this name or number at once: the second client repeats its request, and is told. */
function explain(error: unknown, { source, environment }: Origin): unknown {
  if (violates(error, 'users_username_key') || violates(error, 'accounts_pkey'))
    return new Conflict('Somebody else was given this name or number at the same moment. Repeat the request.')
  const code = messageOf(error).startsWith('source:') ? codeOf(error) : undefined
  if (code === '22023')
    return new Invalid([{ field: 'source', problem: `is one of the other site: ${source}` }])
  if (code === undefinedObject)
    return new Invalid([{ field: 'source', problem: unknownSource(source, environment) }])
  return error
}

/** For so long a holding waits for its customer and its account. */
const waitingMs = day

export function removeOldWaiting(sql: Sql, now: Date, most: number): Promise<object[]> {
  return sql.query(deleteExpired, { before: after(now, -waitingMs), most })
}

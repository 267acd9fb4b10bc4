/**
 * Entries by who did what to whom, from where and when; newest first. Each window of a search looks at so
 * many entries at most, down the index of the subject, the actor or the number, and after some time it says
 * how far it came instead of going on: a search for what is not there costs no more than one for what is.
 */
import { after, minute } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { findFirstSince } from '../database/halving.ts'
import type { Environment } from '../vocabulary/environment.ts'
import type { AuditAction } from './action.ts'
import type { AuditEntry } from './audit.ts'
import { selectIds } from './entries.sql.ts'
import {
  frequentActions,
  searchActor,
  searchAll,
  searchRequest,
  searchSubject,
  selectFirstSince,
  selectOfActions,
} from './entry-search.sql.ts'

export interface EntryQuestion {
  readonly actor?: string | undefined
  /** Any of these. */
  readonly actions?: readonly AuditAction[] | undefined
  readonly subject?: string | undefined
  /** Of the request; codes exchanged and tokens refreshed are not found by it. */
  readonly requestId?: string | undefined
  /** `none` for what belongs to no environment. */
  readonly environment?: Environment | 'none' | undefined
  readonly address?: string | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
}

export interface FoundEntries {
  readonly entries: readonly AuditEntry[]
  /** From where to look on; undefined when there is no more. */
  readonly next: number | undefined
}

interface SearchLimits {
  readonly most: number
  readonly windowEntries?: number
  readonly budgetMs?: number
}

const usualWindow = 20_000
/** Entries of one actor or about one subject lie far apart. */
const scatteredWindow = 4_000
/** The first window is read however long it takes. A reader who wants all of a log without end exports it. */
const usualBudgetMs = 40
/**
 * Entries get their number when they are written and their time when the act began: numbers grow with time,
 * but for so much.
 */
const slackMs = minute

export async function searchEntries(
  sql: Sql,
  question: EntryQuestion,
  beforeId: number | undefined,
  { most, windowEntries, budgetMs = usualBudgetMs }: SearchLimits,
): Promise<FoundEntries> {
  const { from, to } = question
  if (question.actions?.length === 0) return { entries: [], next: undefined }
  const endsAt = performance.now() + budgetMs
  const lowest = from ? await findFirstSince(sql, selectFirstSince, after(from, -slackMs)) : 0
  const highest = to
    ? await findFirstSince(sql, selectFirstSince, after(to, slackMs))
    : Number.MAX_SAFE_INTEGER
  const { actions } = question
  if (isByIndex(question) && actions) {
    const rows = await sql.query(selectOfActions, {
      ...{ actions, before: Math.min(beforeId ?? Number.MAX_SAFE_INTEGER, highest), lowest },
      ...{ most: most + 1, from, to },
    })
    return { entries: rows.slice(0, most), next: rows.length > most ? rows[most - 1]!.id : undefined }
  }
  const chosen = chooseStatement(question)
  const window = windowEntries ?? (chosen === searchAll ? usualWindow : scatteredWindow)
  const found: AuditEntry[] = []
  let before = Math.min(beforeId ?? Number.MAX_SAFE_INTEGER, highest)
  do {
    const wanted = most + 1 - found.length
    const rows = await sql.query(chosen, { ...question, before, lowest, window, most: wanted })
    found.push(...rows.map(({ reached: _, ...entry }) => entry).filter(isThere))
    if (found.length > most) return { entries: found.slice(0, most), next: found[most - 1]?.id }
    before = rows[0]?.reached ?? 0
  } while (before > 0 && performance.now() < endsAt)
  return { entries: found, next: before > 0 ? before : undefined }
}

/** Whether nothing but rare actions is asked for. */
function isByIndex({ actions, actor, subject, requestId, environment, address }: EntryQuestion): boolean {
  const others = [actor, subject, requestId, environment, address]
  const frequent: readonly AuditAction[] = frequentActions
  return (
    others.every((each) => each === undefined) &&
    actions !== undefined &&
    !actions.some((action) => frequent.includes(action))
  )
}

function chooseStatement({ requestId, subject, actor }: EntryQuestion) {
  if (requestId !== undefined) return searchRequest
  if (subject !== undefined) return searchSubject
  return actor !== undefined ? searchActor : searchAll
}

/** What was recorded of one request, but for what applications do all day. */
export async function findRequest(sql: Sql, requestId: string, most: number): Promise<readonly AuditEntry[]> {
  return (await searchEntries(sql, { requestId }, undefined, { most })).entries
}

type MaybeEntry = { readonly [Name in keyof AuditEntry]: AuditEntry[Name] | null }

/** All of it is null where there is none. */
function isThere(entry: MaybeEntry): entry is AuditEntry {
  return entry.id !== null
}

/** Those of these entries that there are. */
export async function findIds(sql: Sql, ids: readonly number[]): Promise<number[]> {
  return (await sql.query(selectIds, { ids })).map(({ id }) => id)
}

const exportedAtOnce = 1_000

/**
 * Everything that a question finds, page by page, so that it is never all in memory and no statement lasts.
 * It throws when it is told to stop: what is cut off must not look whole.
 */
export async function* walkEntries(
  sql: Sql,
  question: EntryQuestion,
  stop: AbortSignal,
): AsyncGenerator<AuditEntry[]> {
  let before: number | undefined
  do {
    stop.throwIfAborted()
    const { entries, next } = await searchEntries(sql, question, before, { most: exportedAtOnce })
    if (entries.length > 0) yield [...entries]
    before = next
  } while (before !== undefined)
}

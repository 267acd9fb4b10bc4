/**
 * What an application says of itself to account holders: a logo, its pages, and a sentence of what it does
 * with the account. The partner gives it, an operator looks at it, and only then it is shown. A change waits
 * like the first one did, and what was accepted stays shown meanwhile.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { isWebPage } from '../brands/brand-words.ts'
import { type CheckedImage, storeImage } from '../brands/image.ts'
import type { Sql } from '../database/database.ts'
import { Conflict, type FieldProblem, Invalid } from '../problem.ts'
import { findNameProblem } from '../text/name.ts'
import type { StoredPicture } from '../vocabulary/brand.ts'
import { recordOf } from '../vocabulary/record-of.ts'
import type { Client } from './client.ts'
import * as table from './client-looks.sql.ts'
import { lockClient } from './clients.sql.ts'

/** What is given; null where it is not. */
interface LookWords {
  readonly purpose: string | null
  readonly website: string | null
  readonly privacyUrl: string | null
  readonly termsUrl: string | null
}

export interface ClientLook extends LookWords {
  readonly clientId: string
  /** `pending` waits for an operator. */
  readonly state: 'pending' | 'shown' | 'declined'
  readonly version: number
  readonly logo: StoredPicture | null
  readonly givenAt: Date
  readonly decidedAt: Date | null
  /** Why it was declined. */
  readonly reason: string | null
}

export interface LooksOfClient {
  readonly pending: ClientLook | undefined
  readonly shown: ClientLook | undefined
  readonly declined: ClientLook | undefined
}

export async function findLooks(sql: Sql, clientId: string): Promise<LooksOfClient> {
  const rows = await sql.query(table.selectLooks, { clientId })
  const find = (state: ClientLook['state']) => rows.find((row) => row.state === state)
  return { pending: find('pending'), shown: find('shown'), declined: find('declined') }
}

/** What account holders see. */
export async function findShownLook(sql: Sql, clientId: string): Promise<ClientLook | undefined> {
  const [look] = await sql.query(table.selectShownLook, { clientId })
  return look
}

const purposeMaxCharacters = 200
const lookFields = ['purpose', 'website', 'privacyUrl', 'termsUrl'] as const

export function parseLook(typed: (name: keyof LookWords) => string | undefined): LookWords {
  const words: LookWords = recordOf(lookFields, (name) => typed(name)?.trim() || null)
  const problems = lookFields.flatMap((name): FieldProblem[] => {
    const text = words[name]
    const problem = text === null ? undefined : findLookProblem(name, text)
    return problem === undefined ? [] : [{ field: name, problem }]
  })
  if (problems.length > 0) throw new Invalid(problems)
  return words
}

function findLookProblem(name: keyof LookWords, text: string): string | undefined {
  if (name === 'purpose') return findNameProblem(text, purposeMaxCharacters)
  return isWebPage(text) ? undefined : 'must be an address such as https://www.example.com/privacy'
}

/** `logo`: a new one, the one that is there, or none. */
export function giveLook(
  db: Sql,
  client: Client,
  words: LookWords,
  logo: CheckedImage | 'keep' | 'none',
  act: Act,
): Promise<void> {
  return changeLooks(db, client, async (sql, { pending, shown }) => {
    const before = (pending ?? shown)?.logo?.hash ?? null
    const hash = logo === 'keep' ? before : logo === 'none' ? null : await storeImage(sql, logo, act.at)
    await sql.query(table.deleteLook, { clientId: client.id, state: 'declined' })
    const isShown =
      shown && hash === (shown.logo?.hash ?? null) && lookFields.every((name) => words[name] === shown[name])
    // What is shown already has been looked at.
    if (isShown) await sql.query(table.deleteLook, { clientId: client.id, state: 'pending' })
    else
      await sql.query(table.upsertPendingLook, {
        clientId: client.id,
        givenAt: act.at,
        ...words,
        logo: hash,
      })
    const details = { branchId: client.branchId, ...words, logo: hash }
    await recordAct(sql, act, 'client.look_given', `client:${client.id}`, details)
  })
}

/** Of the version that the operator has seen. */
export function acceptLook(db: Sql, client: Client, version: number, act: Act): Promise<void> {
  return changeLooks(db, client, async (sql, { pending }) => {
    const look = getSeen(pending, version)
    await sql.query(table.deleteLook, { clientId: client.id, state: 'shown' })
    await sql.query(table.decideLook, { clientId: client.id, state: 'shown', decidedAt: act.at })
    await recordAct(sql, act, 'client.look_accepted', `client:${client.id}`, aboutOf(client, look))
  })
}

/** The partner reads why. */
export function declineLook(
  db: Sql,
  client: Client,
  version: number,
  act: Act & { readonly reason: string },
): Promise<void> {
  return changeLooks(db, client, async (sql, { pending }) => {
    const look = getSeen(pending, version)
    await sql.query(table.deleteLook, { clientId: client.id, state: 'declined' })
    await sql.query(table.decideLook, {
      clientId: client.id,
      state: 'declined',
      decidedAt: act.at,
      reason: act.reason,
    })
    await recordAct(sql, act, 'client.look_declined', `client:${client.id}`, aboutOf(client, look))
  })
}

/** What was accepted is shown no longer. */
export function withdrawLook(db: Sql, client: Client, act: Act): Promise<void> {
  return changeLooks(db, client, async (sql, { shown }) => {
    if (!shown) return
    await sql.query(table.deleteLook, { clientId: client.id, state: 'shown' })
    await recordAct(sql, act, 'client.look_withdrawn', `client:${client.id}`, aboutOf(client, shown))
  })
}

function aboutOf({ branchId }: Client, { version, purpose, website, logo }: ClientLook) {
  return { branchId, version, purpose, website, logo: logo?.hash ?? null }
}

/** One at a time, on what is there then. */
function changeLooks(
  db: Sql,
  { id }: Client,
  change: (sql: Sql, looks: LooksOfClient) => Promise<void>,
): Promise<void> {
  return db.transaction(async (sql) => {
    await sql.query(lockClient, { id })
    await change(sql, await findLooks(sql, id))
  })
}

function getSeen(pending: ClientLook | undefined, version: number): ClientLook {
  if (pending?.version === version) return pending
  throw new Conflict(
    'The partner has changed it, or somebody has decided, since this page was loaded. Look again.',
  )
}

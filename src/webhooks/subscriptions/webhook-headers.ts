/**
 * Headers that a partner has sent with each delivery of a webhook. They may be credentials of its receiver:
 * values are sealed, never shown, and sent to no other host than the one they were given for.
 */

import { openGathering } from '../../concurrency/gather.ts'
import type { Vault } from '../../crypto/vault.ts'
import type { Changes } from '../../database/changes.ts'
import type { Sql } from '../../database/database.ts'
import { openMemory } from '../../database/memory.ts'
import type { SealedTable } from '../../database/reseal.ts'
import { type FieldProblem, Invalid } from '../../problem.ts'
import * as table from './webhook-headers.sql.ts'

export const headerLimits = {
  headers: 10,
  nameCharacters: 64,
  valueCharacters: 1_000,
  characters: 4_000,
} as const

/** Names in lower case. Null takes a header away; what is not named stays. */
export type HeaderChange = Readonly<Record<string, string | null>>

/** RFC 9110. */
const isName = /^[a-z0-9][a-z0-9!#$%&'*+.^_`|~-]{0,63}$/
/**
 * Printable ASCII that neither begins nor ends with a space: nothing that could end a line, and nothing that
 * a server might trim.
 */
const isValue = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/**
 * What the gateway says itself, what says how long a message is and where it ends, and what servers take for
 * the word of a proxy or a browser.
 */
const reserved = new Set([
  ...['content-type', 'user-agent', 'accept', 'accept-encoding', 'date'],
  ...['host', 'content-length', 'content-encoding', 'transfer-encoding', 'te', 'trailer', 'expect'],
  ...['connection', 'keep-alive', 'upgrade', 'http2-settings', 'via', 'forwarded', 'x-real-ip'],
  ...['cookie', 'set-cookie', 'origin', 'referer', 'traceparent', 'tracestate'],
])
const reservedBeginnings = [
  'webhook-',
  'x-webhook-',
  'proxy-',
  'sec-',
  'x-forwarded-',
  'x-http-method',
  'x-method-',
]

/** As it is stored: names mean the same in any case. */
function parseHeaders(given: HeaderChange): HeaderChange {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name.trim().toLowerCase(), value]))
}

export function findHeaderProblems(given: HeaderChange): FieldProblem[] {
  const names = Object.keys(given).map((name) => name.trim().toLowerCase())
  const twice = names.find((name, place) => names.indexOf(name) !== place)
  const problems = Object.entries(parseHeaders(given)).flatMap(
    ([name, value]) => findProblem(name, value) ?? [],
  )
  return [...problems, ...(twice === undefined ? [] : [`names ${twice} twice`])].map((problem) => ({
    field: 'headers',
    problem,
  }))
}

function findProblem(name: string, value: string | null): string | undefined {
  const { nameCharacters, valueCharacters } = headerLimits
  if (!isName.test(name))
    return `has a name that is none: letters, digits and hyphens, ${nameCharacters} at most`
  if (reserved.has(name) || reservedBeginnings.some((beginning) => name.startsWith(beginning)))
    return `must not have ${name}: that one is not yours to set`
  if (value !== null && (value.length > valueCharacters || !isValue.test(value)))
    return `must have a value of 1 to ${valueCharacters} printable ASCII characters at ${name}, without a space at either end`
  return undefined
}

const purposeOf = (webhookId: number, name: string) => `webhook-header:${webhookId}:${name}`

/** In a transaction that holds the webhook's row: what another change adds meanwhile counts. */
export async function changeHeaders(
  sql: Sql,
  vault: Vault,
  webhookId: number,
  change: HeaderChange,
  now: Date,
): Promise<void> {
  const entries = Object.entries(parseHeaders(change))
  const given = entries.flatMap(([name, value]) => (value === null ? [] : [{ name, value }]))
  const taken = entries.flatMap(([name, value]) => (value === null ? [name] : []))
  if (taken.length > 0) await sql.query(table.deleteHeaders, { webhookId, names: taken })
  if (given.length > 0) {
    const names = given.map(({ name }) => name)
    const sealed = given.map(({ name, value }) => vault.seal(purposeOf(webhookId, name), value))
    await sql.query(table.upsertHeaders, { webhookId, names, sealed, now })
  }
  refuseExcess(await readHeaders(sql, vault, webhookId))
}

function refuseExcess(headers: readonly OpenedHeader[]): void {
  const characters = headers.reduce((sum, { name, value = '' }) => sum + name.length + value.length, 0)
  if (headers.length > headerLimits.headers)
    throw new Invalid([{ field: 'headers', problem: `must be ${headerLimits.headers} at most` }])
  if (characters > headerLimits.characters)
    throw new Invalid([
      {
        field: 'headers',
        problem: `must have ${headerLimits.characters} characters at most, names and values together`,
      },
    ])
}

interface OpenedHeader {
  readonly name: string
  /** Undefined when its key is gone. */
  readonly value: string | undefined
}

interface SealedHeader {
  readonly webhookId: number
  readonly name: string
  readonly sealed: Buffer
}

function openHeader(vault: Vault, { webhookId, name, sealed }: SealedHeader): OpenedHeader {
  return { name, value: vault.open(purposeOf(webhookId, name), sealed) }
}

async function readHeaders(sql: Sql, vault: Vault, webhookId: number): Promise<OpenedHeader[]> {
  const rows = await sql.query(table.selectHeaders, { webhookIds: [webhookId] })
  return rows.map((row) => openHeader(vault, row))
}

/** Of each, what may be shown: the names. */
export async function listHeaderNames(
  sql: Sql,
  webhooks: readonly { readonly id: number }[],
): Promise<ReadonlyMap<number, readonly string[]>> {
  const ids = webhooks.map(({ id }) => id)
  const rows = await sql.query(table.selectHeaderNames, { webhookIds: ids })
  const byWebhook = Map.groupBy(rows, (row) => row.webhookId)
  return new Map(ids.map((id) => [id, (byWebhook.get(id) ?? []).map(({ name }) => name)]))
}

/** The names of one webhook's. */
export async function readHeaderNames(sql: Sql, { id }: { readonly id: number }): Promise<string[]> {
  const rows = await sql.query(table.selectHeaderNames, { webhookIds: [id] })
  return rows.map(({ name }) => name)
}

type Headers = Readonly<Record<string, string>>

export interface HeaderKeeper {
  /** Undefined when one of them cannot be opened. Without a promise when they are remembered. */
  find(webhookId: number): Headers | undefined | Promise<Headers | undefined>
}

interface StoredHeaders {
  readonly headers: Headers | undefined
}

export function openHeaderKeeper(db: Sql, vault: Vault, changes: Changes): HeaderKeeper {
  const memory = openMemory<StoredHeaders>(changes)
  const readRows = openGathering(async (webhookIds: readonly number[]) => {
    const rows = Map.groupBy(
      await db.query(table.selectHeaders, { webhookIds }),
      ({ webhookId }) => webhookId,
    )
    return (id: number) => rows.get(id) ?? []
  })
  async function read(webhookId: number) {
    const all = (await readRows(webhookId)).map((row) => openHeader(vault, row))
    const opened = all.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const]))
    const headers = opened.length === all.length ? Object.fromEntries(opened) : undefined
    return { value: { headers }, tags: [`webhook:${webhookId}`] }
  }
  return {
    find(webhookId) {
      const key = String(webhookId)
      const known = memory.recall(key)
      if (known) return known.headers
      return memory.learn(key, () => read(webhookId)).then((learned) => learned.headers)
    },
  }
}

export const sealedWebhookHeaders: SealedTable<{
  id: number
  webhookId: number
  name: string
  sealed: Buffer
}> = {
  select: table.selectSealedHeaders,
  read: table.readSealedHeaders,
  update: table.updateSealedHeader,
  purposeOf: (row) => purposeOf(row.webhookId, row.name),
}

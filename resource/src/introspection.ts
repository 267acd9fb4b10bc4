/** RFC 7662: what the gateway answers about a token. */
import type { Access } from './access.ts'
import {
  findNumber,
  findText,
  findTexts,
  getText,
  type JsonObject,
  NotUnderstood,
  parseObject,
} from './read-json.ts'

export interface Answer {
  readonly access: Access
  /** What it depends on, in the words of the feed. */
  readonly tags: readonly string[]
  /** Of its text. */
  readonly bytes: number
}

/** Undefined for a token that is not active. */
export function parseAnswer(text: string): Answer | undefined {
  const told = parseObject(text)
  if (typeof told.active !== 'boolean')
    throw new NotUnderstood('It does not say whether the token is active.')
  if (!told.active) return undefined
  return { access: parseAccess(told), tags: findTexts(told, 'tags') ?? [], bytes: 2 * text.length }
}

/** Of an answer, or of an assertion, which says the same. */
export function parseAccess(told: JsonObject): Access {
  const expiresAt = findNumber(told, 'exp')
  const authenticatedAt = findNumber(told, 'auth_time')
  return {
    subject: getText(told, 'sub'),
    scopes: getText(told, 'scope').split(' '),
    accounts: findTexts(told, 'account_numbers'),
    customer: findText(told, 'customer'),
    username: findText(told, 'username'),
    client: findText(told, 'client_id'),
    partner: findNumber(told, 'branch_id'),
    grant: findNumber(told, 'grant_id'),
    audience: findTexts(told, 'aud') ?? [],
    authenticatedAtMs: authenticatedAt === undefined ? undefined : authenticatedAt * 1000,
    acr: findText(told, 'acr'),
    isBound: told.cnf !== undefined,
    expiresAtMs: expiresAt === undefined ? Number.POSITIVE_INFINITY : expiresAt * 1000,
  }
}

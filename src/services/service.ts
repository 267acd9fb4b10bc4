/** The brokerage's own systems (resource servers, publishers), each with a credential of its own. */
import { isDeepStrictEqual } from 'node:util'
import { type Act, recordAct } from '../audit/audit.ts'
import { randomLetters } from '../crypto/random.ts'
import { issueToken, type Token, tokenHint } from '../crypto/token.ts'
import type { Sql } from '../database/database.ts'
import { Invalid, NotFound } from '../problem.ts'
import { findNameProblem } from '../text/name.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { isSource, unknownSource } from '../vocabulary/source.ts'
import { type TokenFact, tokenFacts, usualFacts } from '../vocabulary/token-fact.ts'
import {
  insertService,
  lockService,
  selectService,
  selectServices,
  selectServicesByIds,
  selectUnknownSources,
  updateMayProvision,
  updateReading,
  updateRevoked,
  updateSecret,
} from './services.sql.ts'

export interface Service {
  readonly id: string
  readonly name: string
  readonly environment: Environment
  /** The sources for which it may say who there is. */
  readonly mayProvision: readonly string[]
  /** What introspection tells it of a token, beside what every service learns. */
  readonly sees: readonly TokenFact[]
  /** What it protects, by the name that clients ask for; null: it takes tokens for any resource. */
  readonly audience: string | null
  readonly createdAt: Date
  readonly revokedAt: Date | null
  /** Of its secret, and since when it is this one; null while nobody was given one. */
  readonly hint: string | null
  readonly secretAt: Date | null
}

interface ServiceDraft {
  readonly mayProvision?: readonly string[]
  readonly sees?: readonly string[]
  readonly audience?: string | null
}

export async function createService(
  db: Sql,
  name: string,
  environment: Environment,
  act: Act,
  draft: ServiceDraft = {},
): Promise<{ service: Service; secret: Token }> {
  return db.transaction(async (sql) => {
    const { id } = await declareService(sql, { ...draft, name }, environment, act)
    return issueSecret(sql, id, act)
  })
}

interface NamedDraft extends ServiceDraft {
  readonly name: string
}

/** Without a secret so far: nobody can be it. */
export function declareService(
  db: Sql,
  draft: NamedDraft,
  environment: Environment,
  act: Act,
): Promise<Service> {
  return db.transaction(async (sql) => {
    const checked = await checkService(sql, draft, environment)
    const { hash } = issueToken('serviceSecret', environment)
    const created = await sql.one(insertService, {
      ...{ id: randomLetters(24), environment, hash, createdAt: act.at },
      ...checked,
    })
    const details = { ...checked, environment }
    await recordAct(sql, act, 'service.created', `service:${created.id}`, details)
    return created
  })
}

/** As it would be kept. Throws `Invalid`. */
export async function checkService(sql: Sql, draft: NamedDraft, environment: Environment) {
  const problem = findNameProblem(draft.name, 100)
  if (problem) throw new Invalid([{ field: 'name', problem }])
  const mayProvision = parseSources(draft.mayProvision ?? [])
  await checkSources(sql, mayProvision, environment)
  return {
    name: draft.name.trim(),
    mayProvision,
    sees: parseFacts(draft.sees ?? usualFacts),
    audience: parseAudience(draft.audience ?? null),
  }
}

/** Its only one: the one of before is refused from its next request on, on every node. */
export async function rotateServiceSecret(
  db: Sql,
  id: string,
  act: Act,
): Promise<{ service: Service; secret: Token }> {
  return db.transaction(async (sql) => {
    const issued = await issueSecret(sql, id, act)
    await recordAct(sql, act, 'service.secret_issued', `service:${id}`)
    return issued
  })
}

async function issueSecret(sql: Sql, id: string, act: Act): Promise<{ service: Service; secret: Token }> {
  const held = await holdService(sql, id)
  if (!held) throw new NotFound(`There is no living service "${id}".`)
  const secret = issueToken('serviceSecret', held.environment)
  const values = { id, hash: secret.hash, hint: tokenHint(secret), secretAt: act.at }
  return { service: await sql.one(updateSecret, values), secret }
}

const sourcesAtMost = 100

function parseSources(sources: readonly string[]): string[] {
  const distinct = [...new Set(sources)].sort()
  const wrong = distinct.find((source) => !isSource(source))
  const problem =
    wrong !== undefined
      ? `must name a source, such as core: a small letter, then small letters, digits and hyphens; not "${wrong}"`
      : distinct.length > sourcesAtMost && `can name ${sourcesAtMost} sources at most`
  if (problem) throw new Invalid([{ field: 'provision', problem }])
  return distinct
}

/** A source is named, for its site, before a service may speak for it. */
async function checkSources(sql: Sql, sources: readonly string[], environment: Environment): Promise<void> {
  const [wrong] = await sql.query(selectUnknownSources, { sources, environment })
  if (!wrong) return
  const problem =
    wrong.environment === null
      ? unknownSource(wrong.source, environment)
      : `names "${wrong.source}", which is a source of the ${wrong.environment} site`
  throw new Invalid([{ field: 'provision', problem }])
}

interface SourceChange {
  readonly added: readonly string[]
  readonly withdrawn: readonly string[]
}

/** Counts with its next request, on every node. */
export function changeProvisioning(db: Sql, id: string, change: SourceChange, act: Act): Promise<Service> {
  const added = parseSources(change.added)
  const withdrawn = parseSources(change.withdrawn)
  return db.transaction(async (sql) => {
    const [changed] = await sql.query(updateMayProvision, { id, added, withdrawn })
    if (!changed) throw new NotFound(`There is no living service "${id}".`)
    const { mayProvision } = changed
    parseSources(mayProvision)
    await checkSources(sql, added, changed.environment)
    await recordAct(sql, act, 'service.provisioning_set', `service:${id}`, { mayProvision, added, withdrawn })
    return changed
  })
}

function parseFacts(words: readonly string[]): TokenFact[] {
  const wrong = words.find((word) => !tokenFacts.some((fact) => fact === word))
  if (wrong === undefined) return tokenFacts.filter((fact) => words.includes(fact))
  const problem = `must be one of ${tokenFacts.join(', ')}, not "${wrong}"`
  throw new Invalid([{ field: 'sees', problem }])
}

/** RFC 8707, 2: an absolute URI without a fragment, spelled as clients have to spell it. */
function parseAudience(text: string | null): string | null {
  if (text === null || isAudience(text)) return text
  const problem =
    'must be an absolute URI of at most 200 characters without a fragment, such as https://orders.example.com'
  throw new Invalid([{ field: 'audience', problem }])
}

function isAudience(text: string): boolean {
  return text.length <= 200 && /^[a-z][a-z0-9+.-]*:[!-"$-~]+$/.test(text) && URL.canParse(text)
}

/** What is left out stays. Counts with its next question, on every node. */
export function changeReading(
  db: Sql,
  id: string,
  change: Pick<ServiceDraft, 'sees' | 'audience'>,
  act: Act,
): Promise<Service> {
  return db.transaction(async (sql) => {
    const before = await holdService(sql, id)
    if (!before) throw new NotFound(`There is no living service "${id}".`)
    const sees = parseFacts(change.sees ?? before.sees)
    const audience = parseAudience(change.audience === undefined ? before.audience : change.audience)
    const changed = await sql.one(updateReading, { id, sees, audience })
    await recordAct(sql, act, 'service.reading_set', `service:${id}`, { sees, audience })
    return changed
  })
}

/** What it may: for which sources it speaks, what it learns of tokens, and which it takes. */
export type ServiceReach = Pick<Service, 'mayProvision' | 'sees' | 'audience'>

/** Whether it may all of that already. */
export function reaches(service: ServiceReach, { mayProvision, sees, audience }: ServiceReach): boolean {
  return (
    mayProvision.every((source) => service.mayProvision.includes(source)) &&
    sees.every((fact) => service.sees.includes(fact)) &&
    (service.audience === null || service.audience === audience)
  )
}

/** What differs, as a command or a declaration has it. */
export async function changeReach(db: Sql, id: string, reach: ServiceReach, act: Act): Promise<Service> {
  return db.transaction(async (sql) => {
    const before = await holdService(sql, id)
    if (!before) throw new NotFound(`There is no living service "${id}".`)
    const lacks = (some: readonly string[], others: readonly string[]) =>
      others.filter((each) => !some.includes(each))
    const change = {
      added: lacks(before.mayProvision, reach.mayProvision),
      withdrawn: lacks(reach.mayProvision, before.mayProvision),
    }
    if (change.added.length + change.withdrawn.length > 0) await changeProvisioning(sql, id, change, act)
    const isSame =
      reach.audience === before.audience && isDeepStrictEqual(parseFacts(reach.sees), before.sees)
    if (!isSame) await changeReading(sql, id, { sees: reach.sees, audience: reach.audience }, act)
    return { ...before, ...reach }
  })
}

/** One that lives, held still until the transaction ends. */
export async function holdService(sql: Sql, id: string): Promise<Service | undefined> {
  const [held] = await sql.query(lockService, { id })
  return held
}

export function listServices(sql: Sql): Promise<Service[]> {
  return sql.query(selectServices)
}

/** Those that live. */
export function listServicesByIds(sql: Sql, ids: readonly string[]): Promise<Service[]> {
  return sql.query(selectServicesByIds, { ids })
}

export async function findService(
  sql: Sql,
  id: string,
): Promise<(Service & { readonly hash: Buffer }) | undefined> {
  const [service] = await sql.query(selectService, { id })
  return service
}

export async function revokeService(db: Sql, id: string, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    const [revoked] = await sql.query(updateRevoked, { id, revokedAt: act.at })
    if (!revoked) throw new NotFound(`There is no living service "${id}".`)
    await recordAct(sql, act, 'service.revoked', `service:${id}`)
  })
}

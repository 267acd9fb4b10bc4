/** The brokerage's own systems (resource servers, publishers), each with a credential of its own. */
import { type Act, recordAct } from '../audit/audit.ts'
import { randomLetters } from '../crypto/random.ts'
import { issueToken, type Token } from '../crypto/token.ts'
import type { Sql } from '../database/database.ts'
import { Invalid, NotFound } from '../problem.ts'
import { findNameProblem } from '../text/name.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { isSource, unknownSource } from '../vocabulary/source.ts'
import {
  insertService,
  selectService,
  selectServices,
  selectUnknownSources,
  updateMayProvision,
  updateRevoked,
} from './services.sql.ts'

export interface Service {
  readonly id: string
  readonly name: string
  readonly environment: Environment
  /** The sources for which it may say who there is. */
  readonly mayProvision: readonly string[]
  readonly createdAt: Date
  readonly revokedAt: Date | null
}

export async function createService(
  db: Sql,
  name: string,
  environment: Environment,
  act: Act,
  sources: readonly string[] = [],
): Promise<{ service: Service; secret: Token }> {
  const problem = findNameProblem(name, 100)
  if (problem) throw new Invalid([{ field: 'name', problem }])
  const mayProvision = parseSources(sources)
  const trimmed = name.trim()
  const secret = issueToken('serviceSecret', environment)
  const service = await db.transaction(async (sql) => {
    await checkSources(sql, mayProvision, environment)
    const created = await sql.one(insertService, {
      id: randomLetters(24),
      name: trimmed,
      environment,
      hash: secret.hash,
      createdAt: act.at,
      mayProvision,
    })
    await recordAct(sql, act, 'service.created', `service:${created.id}`, {
      name: trimmed,
      environment,
      mayProvision,
    })
    return created
  })
  return { service, secret }
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

export function listServices(sql: Sql): Promise<Service[]> {
  return sql.query(selectServices)
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

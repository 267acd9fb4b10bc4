/** The brokerage's own systems (resource servers, publishers), each with a credential of its own. */
import { type Act, recordAct } from '../audit/audit.ts'
import { randomLetters } from '../crypto/random.ts'
import { issueToken, type Token } from '../crypto/token.ts'
import type { Database, Sql } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import { findNameProblem } from '../name.ts'
import { Invalid, NotFound } from '../problem.ts'
import { insertService, selectService, selectServices, updateRevoked } from './services.sql.ts'

export interface Service {
  readonly id: string
  readonly name: string
  readonly environment: Environment
  readonly createdAt: Date
  readonly revokedAt: Date | null
}

export async function createService(
  db: Database,
  name: string,
  environment: Environment,
  act: Act,
): Promise<{ service: Service; secret: Token }> {
  const problem = findNameProblem(name, 100)
  if (problem) throw new Invalid([{ field: 'name', problem }])
  const trimmed = name.trim()
  const secret = issueToken('serviceSecret', environment)
  const service = await db.transaction(async (sql) => {
    const [created] = await sql.query<Service>(insertService, [
      randomLetters(24),
      trimmed,
      environment,
      secret.hash,
      act.at,
    ])
    await recordAct(sql, act, 'service.created', `service:${created!.id}`, { name: trimmed, environment })
    return created!
  })
  return { service, secret }
}

export function listServices(sql: Sql): Promise<Service[]> {
  return sql.query<Service>(selectServices)
}

export async function findService(sql: Sql, id: string): Promise<(Service & { readonly hash: Buffer }) | undefined> {
  const [service] = await sql.query<Service & { hash: Buffer }>(selectService, [id])
  return service
}

export async function revokeService(db: Database, id: string, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    const [revoked] = await sql.query(updateRevoked, [id, act.at])
    if (!revoked) throw new NotFound(`There is no living service "${id}".`)
    await recordAct(sql, act, 'service.revoked', `service:${id}`)
  })
}

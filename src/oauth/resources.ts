/**
 * RFC 8707: which of the brokerage's interfaces a token is for. A service says what it protects; this site is a
 * resource too, by its own address. A token for none in particular is for all of them.
 */
import type { Sql } from '../database/database.ts'
import { selectUnknownAudiences } from '../services/services.sql.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { OAuthError } from './oauth-error.ts'

/** As many fit into the address of an authorization request, sealed, beside a long `state`. */
const resourcesAtMost = 5

interface Site {
  readonly db: Sql
  readonly environment: Environment
  readonly baseUrl: string
}

/** `invalid_target` where one of them is nothing that is protected here. */
export async function findResourceFault(
  { db, environment, baseUrl }: Site,
  resources: readonly string[],
): Promise<OAuthError | undefined> {
  if (resources.length > resourcesAtMost)
    return new OAuthError('invalid_target', `resource can be sent ${resourcesAtMost} times at most.`)
  const audiences = resources.filter((resource) => !isOfSite(resource, baseUrl))
  if (audiences.length === 0) return undefined
  const unknown = await db.query(selectUnknownAudiences, { audiences, environment })
  if (unknown.length === 0) return undefined
  return new OAuthError(
    'invalid_target',
    'resource names nothing that is protected here. It must be spelled as the interface that it is for says.',
  )
}

/** For a list of lists in a statement: none of them has a space. */
export function printResources(resources: readonly string[]): string | null {
  return resources.length === 0 ? null : resources.join(' ')
}

/** Whether a token for these counts at this site's own addresses. */
export function areForSite(resources: readonly string[], baseUrl: string): boolean {
  return resources.length === 0 || resources.some((resource) => isOfSite(resource, baseUrl))
}

function isOfSite(resource: string, baseUrl: string): boolean {
  return resource === baseUrl || resource.startsWith(`${baseUrl}/`)
}

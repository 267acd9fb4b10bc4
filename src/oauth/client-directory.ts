/**
 * The registered clients as the authorization server sees them, remembered until something about them
 * changes.
 */
import type { Changes } from '../database/changes.ts'
import type { Sql } from '../database/database.ts'
import { type Memory, openMemory, type TaggedValue } from '../database/memory.ts'
import type { Registration } from '../partners/client.ts'
import { selectRegistration } from '../partners/clients.sql.ts'
import { mayAct } from '../partners/partner-status.ts'
import { OAuthError } from './oauth-error.ts'

export interface ClientDirectory {
  find(id: string): Promise<Registration | undefined>
  /** Straight from the database: no client is refused because of what a node remembers. */
  findAnew(id: string): Promise<Registration | undefined>
  recall(id: string): Registration | undefined
}

export function openClientDirectory(db: Sql, changes: Changes): ClientDirectory {
  const memory: Memory<Registration> = openMemory(changes)
  async function read(id: string): Promise<TaggedValue<Registration> | undefined> {
    const [value] = await db.query(selectRegistration, { id: wellFormed(id) })
    return value && { value, tags: [`client:${id}`, `branch:${value.branchId}`] }
  }
  const findAnew = (id: string) => memory.learn(id, () => read(id))
  return {
    recall: (id) => memory.recall(id),
    findAnew,
    find: async (id) => memory.recall(id) ?? findAnew(id),
  }
}

/** What cannot be an id is looked up as nothing, at the same cost: a refusal takes as long either way. */
export function wellFormed(id: string): string {
  return /^[A-Za-z0-9]{24}$/.test(id) ? id : ''
}

/**
 * A request as a client that is suspended, or whose partner may not act, is told so, and nothing else is
 * looked at.
 */
export function requireInForce(client: Registration): void {
  if (!isInForce(client))
    throw new OAuthError('unauthorized_client', 'This application is not approved at present.')
}

/** Only an active client of a partner that may act on its site. */
export function isInForce(client: Registration): boolean {
  return client.status === 'active' && mayAct(client.partnerStatus, client.environment)
}

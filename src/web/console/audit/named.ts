/** Whom a person means who types a name into the search of the audit log, by the ids that the log has. */
import type { Sql } from '../../../database/database.ts'
import { findClientsNamed } from '../../../partners/client.ts'
import { findPartners } from '../../../partners/partner-search.ts'
import { findUsers } from '../../../users/user-search.ts'
import type { Reader } from '../frame/console.ts'

/** Of one name so many are offered. */
const offered = 10

interface Named {
  /** `user:id-…` */
  readonly id: string
  readonly name: string
  /** Whether they are called just so, and not something that begins so. */
  readonly isExact: boolean
}

/** `branch:7`, `gateway`: what the log has, and no name. */
const reference = /^[a-z_]+:|^(gateway|anonymous)$/

/** Those who are called so; one who is called just so is meant before others. */
export async function findNamed(sql: Sql, typed: string, reader: Reader): Promise<readonly Named[]> {
  if (reference.test(typed)) return []
  const found = [
    ...(reader.may('users.see') ? await findPeople(sql, typed) : []),
    ...(reader.may('partners.see') ? await findApplications(sql, typed) : []),
  ]
  const exact = found.filter(({ isExact }) => isExact)
  return exact.length === 1 ? exact : found
}

const same = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()

async function findPeople(sql: Sql, typed: string): Promise<Named[]> {
  const { users } = await findUsers(sql, { text: typed }, offered)
  return users.map(({ id, name, username }) => ({
    id: `user:${id}`,
    name: `${name} (${username})`,
    isExact: same(typed, username),
  }))
}

async function findApplications(sql: Sql, typed: string): Promise<Named[]> {
  const { partners } = await findPartners(sql, { text: typed }, offered)
  const clients = await findClientsNamed(sql, typed, offered)
  return [
    ...partners.map(({ branchId, name }) => ({
      id: `branch:${branchId}`,
      name,
      isExact: same(typed, name),
    })),
    ...clients.map(({ id, name, partner }) => ({
      id: `client:${id}`,
      name: `${name} of ${partner}`,
      isExact: same(typed, id),
    })),
  ]
}

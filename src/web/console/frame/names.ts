/**
 * What the log knows by ids, by the names that people know it by. Nothing is lost: the id stands behind the
 * name.
 */
import type { Sql } from '../../../database/database.ts'
import { selectClientPlaces } from '../../../partners/clients.sql.ts'
import { selectPartnerNames } from '../../../partners/partners.sql.ts'
import { selectServiceNames } from '../../../services/services.sql.ts'
import { selectUserNames } from '../../../users/users.sql.ts'
import { type Html, html } from '../../frame/html.ts'
import { mayFollow, type Reader } from './console.ts'

interface EntityName {
  readonly name: string
  /** Where everything about it is. */
  readonly path?: string
}

/** By the id as the log has it, such as `user:id-…`. */
export type Names = ReadonlyMap<string, EntityName>

/** Ids behind a prefix, such as `user:`. */
function idsOf(references: readonly string[], prefix: string): string[] {
  return references.filter((each) => each.startsWith(prefix)).map((each) => each.slice(prefix.length))
}

export async function findNames(sql: Sql, references: readonly string[], reader: Reader): Promise<Names> {
  const branches = idsOf(references, 'branch:')
    .filter((id) => /^\d{1,9}$/.test(id))
    .map(Number)
  const [users, clients, partners, services] = await Promise.all([
    askFor(idsOf(references, 'user:'), (ids) => sql.query(selectUserNames, { ids })),
    askFor(idsOf(references, 'client:'), (ids) => sql.query(selectClientPlaces, { ids })),
    askFor(branches, (branchIds) => sql.query(selectPartnerNames, { branchIds })),
    askFor(idsOf(references, 'service:'), (ids) => sql.query(selectServiceNames, { ids })),
  ])
  const named: readonly (readonly [string, EntityName])[] = [
    ...users.map(({ id, name }) => [`user:${id}`, { name, path: `/console/users/${id}` }] as const),
    ...clients.map(
      ({ id, name, branchId }) => [`client:${id}`, { name, path: partnerPath(branchId) }] as const,
    ),
    ...partners.map(
      ({ branchId, name }) => [`branch:${branchId}`, { name, path: partnerPath(branchId) }] as const,
    ),
    ...services.map(({ id, name }) => [`service:${id}`, { name }] as const),
    ...idsOf(references, 'brand:').map(
      (site) => [`brand:${site}`, { name: `the ${site} brand`, path: `/console/brand/${site}` }] as const,
    ),
    ...idsOf(references, 'webhook:').map(
      (id) => [`webhook:${id}`, { name: `webhook ${id}`, path: `/console/webhooks/${id}` }] as const,
    ),
    ...idsOf(references, 'provider:').map((name) => [`provider:${name}`, { name }] as const),
    ...idsOf(references, 'import:').map(
      (id) => [`import:${id}`, { name: `import ${id}`, path: `/console/imports/${id}` }] as const,
    ),
  ]
  return new Map(
    named.map(([id, { name, path }]) => [id, path && mayFollow(reader, path) ? { name, path } : { name }]),
  )
}

/** Without ids no query is made. */
async function askFor<Id, Row>(
  ids: readonly Id[],
  find: (ids: readonly Id[]) => Promise<Row[]>,
): Promise<Row[]> {
  return ids.length === 0 ? [] : find(ids)
}

function partnerPath(branchId: number): string {
  return `/console/partners/${branchId}`
}

/** Those that are no row of a table. */
const others: ReadonlyMap<string, string> = new Map([
  ['gateway', 'The gateway'],
  ['anonymous', 'Somebody'],
  ['user:unknown', 'an unknown user'],
])

/** A person or thing without a name is shown by the id. */
export function printName(id: string, names: Names): Html {
  const named = names.get(id)
  if (named?.path !== undefined) return html`<a href="${named.path}" title="${id}">${named.name}</a>`
  const words = named?.name ?? others.get(id) ?? printOther(id)
  return html`<span title="${id}">${words}</span>`
}

/** `operator:olga`, who ran a command: `olga (command line)`. */
function printOther(id: string): string {
  return id.startsWith('operator:') ? `${id.slice('operator:'.length)} (command line)` : id
}

/** What the endpoints of administration share. */
import type { Act } from '../../audit/audit.ts'
import type { Context } from '../../context.ts'
import { Forbidden, Invalid } from '../../problem.ts'
import { findTextProblem } from '../../text/name.ts'
import { type Permission, permits } from '../../vocabulary/permission.ts'
import { proposalKinds } from '../../vocabulary/proposal-kind.ts'
import { integer, oneOf, Type, text } from '../../vocabulary/schema.ts'
import type { Administrator } from '../gates/admin-gate.ts'

export const administration = {
  tags: ['Administration'],
  security: [{ adminCredential: [] }],
  mayForbid: true,
} as const

export const reason = text('Why, for the audit log and for whoever decides.', 'Ticket 4711', {
  minLength: 1,
  maxLength: 500,
})

/** Of what takes something away, or is proposed: an act that is always the same, for which there is no body. */
export const ReasonQuery = Type.Object({ reason }, { additionalProperties: false })
export type ReasonQuery = { Querystring: { readonly reason: string } }

/** With why, as the caller says it. */
export function actFor({ act }: Administrator, { reason: why }: { readonly reason?: string }): Act {
  if (why === undefined) return act
  const problem = findTextProblem(why, 500)
  if (problem) throw new Invalid([{ field: 'reason', problem }])
  return { ...act, reason: why }
}

/** What a credential may, as the functions below ask it. */
export const mayOf =
  ({ by: { credential } }: Act) =>
  (permission: Permission) =>
    credential !== undefined && permits([credential.role], permission)

/** What both sites share is administered from the live one. */
export function refuseSandbox({ environment }: Pick<Context, 'environment'>): void {
  if (environment !== 'live')
    throw new Forbidden('Both sites share this: it takes a credential of the live site.')
}

export const MadeProposal = Type.Object(
  {
    id: integer('Its number; 0 in a dry run, where it would be new.', 7),
    kind: oneOf(proposalKinds, { description: 'What is proposed.' }),
    isNew: Type.Boolean({ description: 'False where it was proposed before, and waits.' }),
  },
  { title: 'MadeProposal', description: 'What another person has to decide.' },
)

export const nextPage = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  description: 'Pass it as `cursor` for the next page; null on the last one.',
  examples: ['cacme'],
})

const usualLimit = 50
export const limit = Type.Optional(integer('How many at most.', usualLimit, { minimum: 1, maximum: 100 }))

export const NumberCursor = Type.Optional(
  text('`next` of the page before.', 'c1000', { pattern: '^c[1-9][0-9]{0,14}$' }),
)

export interface Paged {
  readonly cursor?: string
  readonly limit?: number
}

/** Newest first: a page ends with the number that the next one comes before. */
export function readPage({ cursor, limit: most = usualLimit }: Paged) {
  return { before: cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor.slice(1)), most }
}

/** `found`: one more than fits, where there are more. */
export function printPage<Found extends { readonly id: number }, Printed>(
  found: readonly Found[],
  most: number,
  print: (each: Found) => Printed,
) {
  const items = found.slice(0, most)
  return { items: items.map(print), next: found.length > most ? `c${items.at(-1)!.id}` : null }
}

/** A value that may be absent. */
export const orNull = (description: string, example: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description, examples: [example] })

export const instantOrNull = (description: string) =>
  Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    format: 'int64',
    description: `${description}, in epoch milliseconds; null for never.`,
    examples: [1_767_225_600_000],
  })

/** Of what has a number. */
export const numberParam = (description: string) =>
  integer(description, 7, { minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

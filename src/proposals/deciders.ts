/** Who may decide about a proposal: another person than the proposer, not merely another account. */
import { permissionOfKind } from '../audit/powers.ts'
import type { Sql } from '../database/database.ts'
import { isOwnPartner, ownPartnerWords } from '../partners/own-partner.ts'
import { mayBeOnePerson } from '../users/one-person.ts'
import { type Permission, permits, rolesWith, type StaffRole } from '../vocabulary/permission.ts'
import type { ProposalKind } from '../vocabulary/proposal-kind.ts'
import { openWanted, type WantedAct } from './acts.ts'
import { countWithRoles } from './proposals.sql.ts'

/** The exact act. */

/** Operators who can sign in and may decide. */
export async function countDeciders(sql: Sql, kind: ProposalKind): Promise<number> {
  return (await sql.one(countWithRoles, { roles: rolesWith(permissionOfKind(kind)) })).people
}

/** What it takes to decide about it. */
export async function permissionsFor(sql: Sql, wanted: WantedAct): Promise<readonly Permission[]> {
  const more = await openWanted(wanted).alsoNeeds(sql)
  return [permissionOfKind(wanted.kind), ...(more ?? [])]
}

export function permitAll(roles: readonly StaffRole[], needed: readonly Permission[]): boolean {
  return needed.every((permission) => permits(roles, permission))
}

/**
 * Why an operator with these roles may not decide about it; undefined where they may. Pages offer nothing
 * else.
 */
export async function findRefusal(
  sql: Sql,
  proposal: WantedAct & {
    readonly subject: string
    readonly proposedBy: string
    readonly readers: readonly string[]
  },
  decider: string,
  roles: readonly StaffRole[],
  now: Date,
): Promise<string | undefined> {
  if (decider === proposal.proposedBy) return 'You proposed this yourself. Somebody else has to decide.'
  if (proposal.subject === `user:${decider}`) return 'This is about you. Somebody else has to decide.'
  if (!permitAll(roles, await permissionsFor(sql, proposal))) return 'You may not decide about this.'
  if (await isOwnOf(sql, proposal, decider, now)) return ownPartnerWords
  if (proposal.readers.includes(decider)) return readerWords
  for (const proposer of [proposal.proposedBy, ...proposal.readers])
    if (await mayBeOnePerson(sql, proposer, decider, now)) return onePersonWords
  return undefined
}

/** Whether it gives something to a partner of theirs. */
export async function isOwnOf(sql: Sql, wanted: WantedAct, userId: string, now: Date) {
  const branchId = openWanted(wanted).branchOf()
  return branchId !== undefined && isOwnPartner(sql, branchId, userId, now)
}

const readerWords = 'You can read the credential that proposed this. Somebody else has to decide.'

const onePersonWords =
  'Somebody else has to decide: in the last 30 days your account and that of whoever proposed it shared an address, or one person changed how one of you, or both, sign in.'

/**
 * What a provider hands out, and which permissions it takes to configure that. A role map gives roles to
 * every subject that the provider names, and a link claim gives it the accounts of customers: the operator
 * who wrote them may be among those subjects. So it takes what giving the role by hand takes, and everything
 * that the role may.
 */
import { type Act, personOf } from '../audit/audit.ts'
import type { Sql } from '../database/database.ts'
import { Forbidden } from '../problem.ts'
import { listRolesOfActor } from '../users/staff-role.ts'
import { type Permission, permissionsOf, permits, type StaffRole } from '../vocabulary/permission.ts'
import { staffRoleWords } from '../vocabulary/staff-role-words.ts'
import type { ProviderDraft } from './provider-draft.ts'

type HandingOut = Pick<ProviderDraft, 'roleMap' | 'linkClaim'>

/**
 * The permissions that an operator needs to draft, enable, decide about or change such a provider, beside
 * managing providers.
 */
export function neededToHandOut({ roleMap, linkClaim }: HandingOut): readonly Permission[] {
  const roles = Object.values(roleMap)
  const byRoles: Permission[] =
    roles.length > 0 ? ['staff.manage', ...roles.flatMap((role) => permissionsOf[role])] : []
  return [...new Set([...byRoles, ...(linkClaim === null ? [] : (['users.manage'] as const))])]
}

/**
 * What an operator with these roles may not hand out, in words; undefined where they may hand out all of it.
 */
export function findBeyond(
  own: readonly StaffRole[],
  { roleMap, linkClaim }: HandingOut,
): string | undefined {
  const lacks = (handed: HandingOut) => !neededToHandOut(handed).every((each) => permits(own, each))
  const role = Object.values(roleMap).find((each) => lacks({ roleMap: { each }, linkClaim: null }))
  if (role)
    return `You may not map the role ${staffRoleWords[role].title}: it may do more than you. Ask an administrator.`
  if (lacks({ roleMap: {}, linkClaim }))
    return 'You may not set a link claim: it opens the accounts of customers. Ask an administrator.'
  return undefined
}

/**
 * Throws `Forbidden` where the actor may not hand this out. Called in the transaction of every act that
 * drafts, enables or changes a provider, with what the provider hands out afterwards. Signed-in operators
 * alone: an actor on the machine's command line has every power anyway.
 */
export async function refuseHandingOut(sql: Sql, handed: HandingOut, { by }: Act): Promise<void> {
  if (personOf(by) === undefined) return
  const beyond = findBeyond(await listRolesOfActor(sql, by), handed)
  if (beyond) throw new Forbidden(beyond)
}

/**
 * Whether a branch that was let in would be let in again with the same credentials. Nothing is counted: it
 * asks for nothing new.
 */
import type { Context } from '../../context.ts'
import type { Token } from '../../crypto/token.ts'
import type { Standing } from '../../http/standing.ts'
import { secretEndsAtMs } from '../../oauth/client-authentication.ts'
import type { ClientCredentials } from '../../oauth/client-credentials.ts'
import { isInForce } from '../../oauth/client-directory.ts'
import { getBranchOfMember } from '../../partners/partner.ts'
import { type MemberRole, reaches } from '../../vocabulary/member-role.ts'

export async function judgeClient(
  { knownClients, environment, clock }: Context,
  authorization: string | undefined,
  readings: readonly ClientCredentials[],
  clientId: string,
): Promise<Standing | undefined> {
  const found = await knownClients.authenticate(authorization, readings, environment, clock.now())
  if (found?.client.id !== clientId || !isInForce(found.client)) return undefined
  const tags = [`client:${clientId}`, `branch:${found.client.branchId}`]
  return { tags, soundUntilMs: secretEndsAtMs(found) }
}

export async function judgeMember(
  { bearers, db, environment }: Context,
  token: Token,
  branchId: number,
  least: MemberRole,
): Promise<Standing | undefined> {
  const bearer = await bearers.find(token)
  if (!bearer) return undefined
  const membership = await getBranchOfMember(db, bearer.userId, environment)
  if (membership.branchId !== branchId || !reaches(membership.role, least)) return undefined
  const tags = [`api_token:${bearer.tokenId}`, `user:${bearer.userId}`, `branch:${branchId}`]
  return { tags, soundUntilMs: bearer.expiresAtMs }
}

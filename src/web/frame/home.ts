/**
 * Where a user begins who asked for nothing in particular: at the home with the most power (console, portal
 * or account). Each links to the others.
 */
import type { Context } from '../../context.ts'
import { listPartnersOf } from '../../partners/partner.ts'
import type { User } from '../../users/user.ts'

export async function homeOf(
  { db, environment }: Pick<Context, 'db' | 'environment'>,
  user: User,
): Promise<string> {
  if (user.role === 'operator' && environment === 'live') return '/console'
  const partners = await listPartnersOf(db, user.id)
  if (partners.length === 1) return `/partner/${partners[0]!.branchId}`
  return partners.length > 1 ? '/partner' : '/account'
}

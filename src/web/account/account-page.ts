/** The frame of the pages of an account, with its bar. */
import { listPartnersOf, type PartnerMembership } from '../../partners/partner.ts'
import { mayAct } from '../../partners/partner-status.ts'
import { listApiTokens } from '../../users/api-token.ts'
import { printTold } from '../frame/flash-message.ts'
import { type Html, html } from '../frame/html.ts'
import { sendPage } from '../frame/page.ts'
import type { Visit } from '../frame/visit.ts'
import type { UserSession } from '../frame/visitor.ts'

/** Of whoever has more than an account: the console’s, or that of the first partner that may act here. */
function findSearch(
  { context: { environment } }: Visit,
  { session: { user } }: UserSession,
  partners: readonly PartnerMembership[],
): string | undefined {
  if (user.role === 'operator' && environment === 'live') return '/console/search'
  const own = partners.find(({ status }) => mayAct(status, environment))
  return own && `/partner/${own.branchId}/search`
}

interface AccountPage {
  readonly title: string
  readonly here: string
  readonly body: Html
  readonly status?: number
  readonly scripts?: readonly string[]
}

export async function sendAccountPage(visit: Visit, visitor: UserSession, page: AccountPage) {
  const { title, here, status, scripts = [] } = page
  const { user } = visitor.session
  const partners = await listPartnersOf(visit.context.db, user.id)
  const isPlain = here !== '/account/api' && (await isPlainCustomer(visit, visitor, partners))
  const account = { user, forms: visitor.forms, here, isPlain }
  const body = html`${printTold(visit, visitor)}${page.body}`
  return sendPage(visit.reply, {
    title,
    body,
    ...(status !== undefined && { status }),
    scripts,
    forms: visitor.forms,
    environment: visit.context.environment,
    account,
    search: findSearch(visit, visitor, partners),
  })
}

/** Neither staff, nor a member of a partner, nor somebody with programs of their own; in the sandbox nobody is. */
async function isPlainCustomer(
  { context: { db, environment } }: Visit,
  { session: { user } }: UserSession,
  partners: readonly PartnerMembership[],
): Promise<boolean> {
  if (environment !== 'live' || user.role !== 'holder' || partners.length > 0) return false
  return (await listApiTokens(db, user.id)).length === 0
}

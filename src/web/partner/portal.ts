/** The frame of the portal's pages, and the small things that many of them show. */
import { type MemberRole, reaches } from '../../member-role.ts'
import type { PartnerMembership } from '../../partners/partner.ts'
import { mayAct } from '../../partners/partner-status.ts'
import type { Html } from '../frame/html.ts'
import { type Link, sendPage } from '../frame/page.ts'
import type { Visit } from '../frame/visit.ts'
import type { SignedIn } from '../frame/visitor.ts'
import { type AnyMember, isServed } from '../gates.ts'

/** Who does not have the role for a section is not led there. */
interface Section extends Link {
  readonly least?: MemberRole
}

const sections: readonly Section[] = [
  { path: '', label: 'Overview' },
  { path: '/webhooks', label: 'Webhooks' },
  { path: '/deliveries', label: 'Deliveries', searches: true },
  { path: '/test', label: 'Test hooks', least: 'developer' },
  { path: '/clients', label: 'Clients' },
  { path: '/members', label: 'Members', liveAlone: true },
  { path: '/messages', label: 'Messages', liveAlone: true },
  { path: '/refusals', label: 'Refusals' },
  { path: '/signature', label: 'Signatures' },
  { path: '/reference', label: 'Reference' },
  { path: '/events', label: 'Events' },
]

interface PortalPage {
  readonly title: string
  /** Which of the links leads here. */
  readonly section?: string
  readonly body: Html
  readonly status?: number
  readonly live?: boolean
  readonly calls?: boolean
  readonly scripts?: readonly string[]
}

export function sendPortal({ context, reply }: Visit, member: AnyMember, page: PortalPage) {
  const { section = '', ...rest } = page
  const links = sectionsFor(member.partner.role).map((link) => ({ ...link, path: member.home + link.path }))
  return sendPage(reply, {
    ...rest,
    environment: context.environment,
    account: { user: member.session.user, csrf: member.csrf, here: member.home + section },
    navigation: isServed(member) ? [...links, accountLink] : [accountLink],
    partners: partnersOf(member, section),
    wide: true,
  })
}

function sectionsFor(role: MemberRole): readonly Section[] {
  return sections.filter(({ least = 'viewer' }) => reaches(role, least))
}

/** The same page of each other partner, if it may be seen there. */
function partnersOf({ partners, partner, branch }: AnyMember, section: string) {
  const others = partners.filter(({ branchId }) => branchId !== partner.branchId)
  const isThere = ({ role, status }: PartnerMembership) =>
    mayAct(status, branch.environment) && sectionsFor(role).some(({ path }) => path === section)
  const links = others.map((each) => ({
    path: `/partner/${each.branchId}${isThere(each) ? section : ''}`,
    label: each.name,
  }))
  return { current: partner.name, others: links }
}

/** For those who are no member yet. */
export function sendEntrance({ context, reply }: Visit, visitor: SignedIn, page: Omit<PortalPage, 'section'>) {
  const account = { user: visitor.session.user, csrf: visitor.csrf, here: '/partner' }
  return sendPage(reply, { ...page, environment: context.environment, account, wide: true })
}

const accountLink: Link = { path: '/account', label: 'My account' }

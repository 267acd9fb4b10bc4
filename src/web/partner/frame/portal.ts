/** The frame of the portal's pages, and the small things that many of them show. */

import type { PartnerMembership } from '../../../partners/partner.ts'
import { mayAct } from '../../../partners/partner-status.ts'
import { type MemberRole, reaches } from '../../../vocabulary/member-role.ts'
import { printTold } from '../../frame/flash-message.ts'
import { type Html, html } from '../../frame/html.ts'
import { type Link, sendPage } from '../../frame/page.ts'
import type { Visit } from '../../frame/visit.ts'
import type { UserSession } from '../../frame/visitor.ts'
import { type AnyMember, isServed } from '../../gates/gates.ts'

/** A member who does not have the role for a section is not led there. */
interface Section extends Link {
  readonly least?: MemberRole
}

const sections: readonly Section[] = [
  { path: '', label: 'Overview' },
  { path: '/webhooks', label: 'Webhooks' },
  { path: '/deliveries', label: 'Deliveries' },
  { path: '/test', label: 'Test events', least: 'developer' },
  { path: '/clients', label: 'Clients' },
  { path: '/test-holders', label: 'Test holders', sandboxAlone: true },
  { path: '/members', label: 'Members', liveAlone: true },
  { path: '/messages', label: 'Messages', liveAlone: true },
  { path: '/calls', label: 'API calls' },
  { path: '/alerts', label: 'Alerts' },
  { path: '/signature', label: 'Signatures' },
  { path: '/proofs', label: 'Proofs' },
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

export function sendPortal(visit: Visit, member: AnyMember, page: PortalPage) {
  const { context, reply } = visit
  const { section = '', ...rest } = page
  const links = sectionsFor(member.partner.role).map((link) => ({ ...link, path: member.home + link.path }))
  return sendPage(reply, {
    ...rest,
    body: html`${printTold(visit, member)}${page.body}`,
    forms: member.forms,
    environment: context.environment,
    account: { user: member.session.user, forms: member.forms, here: member.home + section },
    navigation: isServed(member) ? [...links, accountLink] : [accountLink],
    partners: partnersOf(member, section),
    search: isServed(member) ? `${member.home}/search` : undefined,
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

/** For users who are no member yet. */
export function sendEntrance(visit: Visit, visitor: UserSession, page: Omit<PortalPage, 'section'>) {
  const { context, reply } = visit
  const account = { user: visitor.session.user, forms: visitor.forms, here: '/partner' }
  const body = html`${printTold(visit, visitor)}${page.body}`
  const { forms } = visitor
  return sendPage(reply, { ...page, body, forms, environment: context.environment, account, wide: true })
}

const accountLink: Link = { path: '/account', label: 'My account' }

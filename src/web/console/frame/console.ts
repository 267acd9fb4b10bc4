/** The frame of the console's pages. */
import type { Permission } from '../../../vocabulary/permission.ts'
import { printTold } from '../../frame/flash-message.ts'
import { type Content, type Html, html } from '../../frame/html.ts'
import { type Link, sendPage } from '../../frame/page.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Operator } from '../../gates/gates.ts'

interface Section extends Link {
  /** What it takes to look there; the least of the rows below it. */
  readonly permission?: Permission
}

const sections: readonly Section[] = [
  { path: '/console', label: 'Overview', permission: 'overview.see' },
  { path: '/console/partners', label: 'Partners', permission: 'partners.see' },
  { path: '/console/users', label: 'Users', permission: 'users.see' },
  { path: '/console/imports', label: 'Imports', permission: 'imports.manage' },
  { path: '/console/webhooks', label: 'Webhooks', permission: 'webhooks.see' },
  { path: '/console/alerts', label: 'Alerts', permission: 'webhooks.see' },
  { path: '/console/proposals', label: 'Proposals', permission: 'overview.see' },
  { path: '/console/audit', label: 'Audit log', permission: 'audit.see' },
  { path: '/console/brand/live', label: 'Brand', permission: 'brand.manage' },
  { path: '/console/settings', label: 'Settings', permission: 'settings.see' },
  { path: '/console/providers', label: 'Sign-in', permission: 'providers.manage' },
  { path: '/console/staff', label: 'Staff', permission: 'staff.see' },
  { path: '/console/credentials', label: 'Credentials', permission: 'staff.see' },
  { path: '/partner', label: 'Partner portal' },
  { path: '/account', label: 'My account' },
]

/** An operator who looks at a page. */
export type Reader = Pick<Operator, 'may'>

/** What would be refused is not offered. */
export function mayFollow(reader: Reader, path: string): boolean {
  const isAbove = (section: Section) => `${path.split(/[?#]/)[0]}/`.startsWith(`${section.path}/`)
  const permission = sections.findLast(isAbove)?.permission
  return permission === undefined || reader.may(permission)
}

/** For a reader who may not follow it: its words. */
export function linkTo(reader: Reader, path: string, label: Content): Html {
  return mayFollow(reader, path) ? html`<a href="${path}">${label}</a>` : html`${label}`
}

interface ConsolePage {
  readonly title: string
  /** Which of the links leads here. */
  readonly section: string
  readonly body: Html
  readonly status?: number
  readonly live?: boolean
  readonly scripts?: readonly string[]
}

export function sendConsole(visit: Visit, operator: Operator, page: ConsolePage) {
  const { section, ...rest } = page
  return sendPage(visit.reply, {
    ...rest,
    body: html`${printTold(visit, operator)}${page.body}`,
    forms: operator.forms,
    environment: visit.context.environment,
    account: { user: operator.session.user, forms: operator.forms, here: section },
    navigation: sections.filter(({ path }) => mayFollow(operator, path)),
    search: '/console/search',
    wide: true,
  })
}

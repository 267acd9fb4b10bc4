/** The frame of the console's pages. */
import { printTold } from '../frame/done.ts'
import { type Html, html } from '../frame/html.ts'
import { type Link, sendPage } from '../frame/page.ts'
import type { Visit } from '../frame/visit.ts'
import type { Operator } from '../gates.ts'

const sections: readonly Link[] = [
  { path: '/console', label: 'Overview' },
  { path: '/console/partners', label: 'Partners' },
  { path: '/console/users', label: 'Users' },
  { path: '/console/webhooks', label: 'Webhooks' },
  { path: '/console/audit', label: 'Audit log' },
  { path: '/console/brand/live', label: 'Brand' },
  { path: '/console/settings', label: 'Settings' },
  { path: '/partner', label: 'Partner portal' },
  { path: '/account', label: 'My account' },
]

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
    environment: visit.context.environment,
    account: { user: operator.session.user, csrf: operator.csrf, here: section },
    navigation: sections,
    search: '/console/search',
    wide: true,
  })
}

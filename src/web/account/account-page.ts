/** The frame of the pages of an account, with its bar. */
import { printTold } from '../frame/flash-message.ts'
import { type Html, html } from '../frame/html.ts'
import { sendPage } from '../frame/page.ts'
import type { Visit } from '../frame/visit.ts'
import type { UserSession } from '../frame/visitor.ts'

interface AccountPage {
  readonly title: string
  readonly here: string
  readonly body: Html
  readonly status?: number
  readonly scripts?: readonly string[]
}

export function sendAccountPage(visit: Visit, visitor: UserSession, page: AccountPage) {
  const { title, here, status, scripts = [] } = page
  const account = { user: visitor.session.user, forms: visitor.forms, here }
  const body = html`${printTold(visit, visitor)}${page.body}`
  return sendPage(visit.reply, {
    title,
    body,
    ...(status !== undefined && { status }),
    scripts,
    forms: visitor.forms,
    environment: visit.context.environment,
    account,
  })
}

/** What the pages of an account share: the frame with its bar, and ids in forms. */
import { Invalid } from '../../problem.ts'
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
  const { title, here, status = 200, scripts = [] } = page
  const account = { user: visitor.session.user, csrf: visitor.csrf, here }
  const body = html`${printTold(visit, visitor)}${page.body}`
  return sendPage(visit.reply, {
    title,
    body,
    status,
    scripts,
    environment: visit.context.environment,
    account,
  })
}

export function parseId(text: string | undefined, field: string): number {
  if (text === undefined || !/^\d{1,15}$/.test(text))
    throw new Invalid([{ field, problem: 'must be a number' }])
  return Number(text)
}

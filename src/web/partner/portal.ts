/** The frame of the portal's pages, and the small things that many of them show. */
import { type Content, type Html, html } from '../html.ts'
import { type Link, sendPage } from '../page.ts'
import type { SignedIn } from '../visitor.ts'
import type { Member, Visit } from './member.ts'

const sections: readonly Link[] = [
  { path: '', label: 'Overview' },
  { path: '/webhooks', label: 'Webhooks' },
  { path: '/deliveries', label: 'Deliveries' },
  { path: '/test', label: 'Test hooks' },
  { path: '/clients', label: 'Clients' },
  { path: '/members', label: 'Members' },
  { path: '/refusals', label: 'Refusals' },
  { path: '/reference', label: 'Reference' },
]

export interface PortalPage {
  readonly title: string
  /** Which of the links leads here. */
  readonly section?: string
  readonly body: Html
  readonly status?: number
  readonly live?: boolean
}

export function sendPortal({ context, reply }: Visit, member: Member, page: PortalPage) {
  const { section = '', ...rest } = page
  const links = sections.map(({ path, label }) => ({ path: member.home + path, label }))
  return sendPage(reply, {
    ...rest,
    environment: context.environment,
    account: { user: member.session.user, csrf: member.csrf, here: member.home + section },
    navigation: member.partner.status === 'approved' ? [...links, accountLink] : [accountLink],
    wide: true,
  })
}

/** For those who are no member yet. */
export function sendEntrance({ context, reply }: Visit, visitor: SignedIn, page: Omit<PortalPage, 'section'>) {
  const account = { user: visitor.session.user, csrf: visitor.csrf, here: '/partner' }
  return sendPage(reply, { ...page, environment: context.environment, account, wide: true })
}

const accountLink: Link = { path: '/account', label: 'My account' }

export function crumbs(links: readonly Link[]): Html {
  const items = links.map(({ path, label }) => html`<li><a href="${path}">${label}</a></li>`)
  return html`<nav aria-label="Where you are"><ol class="crumbs">${items}</ol></nav>`
}

export type Tone = 'good' | 'bad' | 'wait' | 'off'

export function badge(tone: Tone, label: string): Html {
  return html`<span class="state ${tone}">${label}</span>`
}

/** A table that scrolls by itself where the screen is narrow. */
export function table(caption: string, head: readonly Content[], rows: readonly Html[]): Html {
  const heads = head.map((each) => html`<th scope="col">${each}</th>`)
  return html`<div class="scrolls" role="region" aria-label="${caption}" tabindex="0"><table><caption class="unseen">${caption}</caption><thead><tr>${heads}</tr></thead><tbody>${rows}</tbody></table></div>`
}

/** Short, for tables: to the second. */
export function printMoment(date: Date): Html {
  const iso = date.toISOString()
  return html`<time datetime="${iso}" title="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)}</time>`
}

export function facts(pairs: readonly (readonly [string, Content])[]): Html {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== false)
  return html`<dl>${shown.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`
}

/** The frame of every page, and the headers that keep it from being framed, cached, leaked or scripted. */
import type { FastifyReply } from 'fastify'
import { type Environment, environments } from '../../environment.ts'
import type { User } from '../../users/user.ts'
import { assetUrl } from './assets.ts'
import { type Content, type Html, html } from './html.ts'
import { findPlace } from './place.ts'
import { withTyped } from './typed-page.ts'

export interface Page {
  readonly title: string
  readonly body: Html
  readonly environment: Environment
  /** Signed-in pages show the account's navigation. */
  readonly account?: { readonly user: User; readonly csrf: string; readonly here: string }
  /** A form of this page ends at the callback, or wherever the callback leads on to: no form-action can name that. */
  readonly leadsOn?: boolean
  readonly status?: number
  /** Of public/, beside the one that every page has. */
  readonly scripts?: readonly string[]
  /** Whose pages these are, and the same page of others that the visitor acts for. */
  readonly partners?: { readonly current: string; readonly others: readonly Link[] }
  /** Links of a part of the site, in place of the account's. */
  readonly navigation?: readonly Link[]
  /** Room for tables. */
  readonly wide?: boolean
  /** The page hears of changes from its own address. */
  readonly live?: boolean
}

export interface Link {
  readonly path: string
  readonly label: string
  /** The sandbox has no such page. */
  readonly liveAlone?: true
}

/** The pages of the account, in the order of the bar. */
const accountNavigation: readonly Link[] = [
  { path: '/account', label: 'Connected applications' },
  { path: '/account/api', label: 'API settings' },
  { path: '/account/devices', label: 'Sign-ins and devices', liveAlone: true },
  { path: '/account/security', label: 'Security', liveAlone: true },
  { path: '/account/history', label: 'History', liveAlone: true },
  { path: '/partner', label: 'Partner portal' },
]

export function sendPage(reply: FastifyReply, page: Page): FastifyReply {
  const shown = { ...withTyped(reply, page), onOtherSite: findPlace(reply)?.onOtherSite }
  return reply
    .status(shown.status ?? 200)
    .headers(pageHeaders(shown))
    .type('text/html; charset=utf-8')
    .send(printPage(shown))
}

export function pageHeaders({ leadsOn, live }: Pick<Page, 'leadsOn' | 'live'> = {}): Record<string, string> {
  const formAction = leadsOn ? '' : " form-action 'self';"
  const connect = live ? " connect-src 'self';" : ''
  return {
    'content-security-policy': `default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self';${formAction}${connect} base-uri 'none'; frame-ancestors 'none'`,
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=()',
  }
}

export function printPage(page: Page & { readonly onOtherSite?: string | undefined }): string {
  const { title, body, environment, account, navigation = accountNavigation, wide, live, scripts = [] } = page
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Countersign</title>
<link rel="icon" href="${assetUrl('mark.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assetUrl('countersign.css')}">
${wide && html`<link rel="stylesheet" href="${assetUrl('portal.css')}">`}
<script src="${assetUrl('submit-once.js')}" defer></script>
${[...scripts, ...(live ? ['live.js'] : [])].map(
  (name) => html`<script src="${assetUrl(name)}" defer></script>
`,
)}</head>
<body${environment === 'sandbox' && html` class="sandbox"`}>
${environment === 'sandbox' && html`<p class="ribbon">Sandbox: nothing here touches real money.</p>`}
<header class="top">
<a class="brand" href="/"><img src="${assetUrl('mark.svg')}" alt="" width="28" height="28">Countersign</a>
${account && page.onOtherSite !== undefined && printSites(environment, page.onOtherSite)}
${page.partners && page.partners.others.length > 0 && printPartners(page.partners)}
${account && printAccountBar(account, navigation, environment)}
</header>
<main${wide && html` class="wide"`}>${body}</main>
</body>
</html>`.text
}

function printSites(here: Environment, other: string): Html {
  const links = environments.map((each) => {
    const name = each === 'live' ? 'Live' : 'Sandbox'
    return each === here ? html`<span aria-current="true">${name}</span>` : html`<a href="${other}">${name}</a>`
  })
  return html`<nav class="sites" aria-label="Environment">${links}</nav>`
}

function printPartners({ current, others }: NonNullable<Page['partners']>): Html {
  const links = others.map(({ path, label }) => html`<a href="${path}">${label}</a>`)
  return html`<details class="partners"><summary><span class="unseen">Partner: </span>${current}</summary><nav aria-label="Other partners">${links}</nav></details>`
}

const consoleLink: Link = { path: '/console', label: 'Console', liveAlone: true }

function printAccountBar(
  { user, csrf, here }: NonNullable<Page['account']>,
  navigation: readonly Link[],
  environment: Environment,
): Html {
  const isOutside = user.role === 'operator' && !navigation.some(({ path }) => path === consoleLink.path)
  const links = [...navigation, ...(isOutside ? [consoleLink] : [])]
    .filter(({ liveAlone }) => environment === 'live' || !liveAlone)
    .map(({ path, label }) => html`<a href="${path}"${path === here && html` aria-current="page"`}>${label}</a>`)
  return html`<nav aria-label="Account">${links}</nav>
<form class="who" method="post" action="/logout">${csrfField(csrf)}<span>${user.name}</span><button class="quiet">Sign out</button></form>`
}

export function csrfField(token: string): Html {
  return html`<input type="hidden" name="csrf" value="${token}">`
}

export function notice(kind: 'error' | 'success', content: Content): Html {
  return html`<p class="notice ${kind}" role="${kind === 'error' ? 'alert' : 'status'}">${content}</p>`
}

export function printDate(date: Date): Html {
  const words = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' })
  const time = date.toISOString().slice(11, 16)
  return html`<time datetime="${date.toISOString()}" title="${date.toISOString()}">${words}, ${time} UTC</time>`
}

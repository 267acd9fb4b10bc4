/** The frame of every page, and the headers that keep it from being framed, cached, leaked or scripted. */
import type { FastifyReply } from 'fastify'
import { type TimeZone, utc } from '../../text/time-zone.ts'
import type { Brand } from '../../vocabulary/brand.ts'
import { assetUrl, brandStyleUrl, pictureUrl, styleUrl } from './assets.ts'
import { type Bars, printBottom, printTop } from './bars.ts'
import { type Content, type Html, html } from './html.ts'
import { tellMinutes } from './moment.ts'
import type { PageForms } from './page-forms.ts'
import { placeOf } from './place.ts'

export type { Link } from './bars.ts'

/** Signed-in pages say whose they are, and show the account's navigation or that of a part of the site. */
interface Page extends Omit<Bars, 'onOtherSite' | 'brand' | 'only' | 'now'> {
  readonly title: string
  readonly body: Html
  /**
   * A form of this page ends at the callback, or wherever the callback leads on to: no form-action can name
   * that.
   */
  readonly leadsOn?: boolean
  readonly status?: number
  /** Of public/, beside those that every page has. */
  readonly scripts?: readonly string[]
  /** The forms that are on it. */
  readonly forms?: PageForms
  /** Room for tables. */
  readonly wide?: boolean
  /** The page hears of changes from its own address. */
  readonly live?: boolean
  /** A script of the page calls the interface of the site it is on. */
  readonly calls?: boolean
}

export function sendPage(reply: FastifyReply, { forms, ...page }: Page): FastifyReply {
  const body = html`${forms?.printReturned()}${page.body}`
  const status = page.status ?? forms?.status ?? 200
  const shown = { ...page, body, ...placeOf(reply) }
  return reply
    .status(status)
    .headers(pageHeaders(shown))
    .type('text/html; charset=utf-8')
    .send(printPage(shown))
}

export function pageHeaders({
  leadsOn,
  live,
  calls,
}: Pick<Page, 'leadsOn' | 'live' | 'calls'> = {}): Record<string, string> {
  const formAction = leadsOn ? '' : " form-action 'self';"
  const connect = live || calls ? " connect-src 'self';" : ''
  return {
    'content-security-policy': `default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self';${formAction}${connect} base-uri 'none'; frame-ancestors 'none'`,
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=()',
  }
}

export function printPage(page: Page & Bars & { readonly zone?: TimeZone }): string {
  const { title, body, environment, wide, brand, only, zone = utc, now } = page
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="${only ?? 'light dark'}">
<title>${title} · ${brand.name}</title>
${printIcon(brand)}
<link rel="stylesheet" href="${styleUrl('countersign.css', only)}">
<link rel="stylesheet" href="${brandStyleUrl(brand, only)}">
${wide && html`<link rel="stylesheet" href="${styleUrl('portal.css', only)}">`}
${scriptsOf(page).map(
  (name) => html`<script src="${assetUrl(name)}" defer></script>
`,
)}</head>
<body${environment === 'sandbox' && html` class="sandbox"`}${now && html` data-now="${now.toISOString()}"`}>
${printTop(page)}
<main id="content" tabindex="-1"${wide && html` class="wide"`}>${body}</main>
${printBottom(page)}
</body>
</html>`.in(zone)
}

function printIcon({ favicon }: Brand): Html | undefined {
  if (!favicon) return undefined
  const type = 'file' in favicon ? 'image/svg+xml' : favicon.type
  return html`<link rel="icon" href="${pictureUrl(favicon)}" type="${type}">`
}

function scriptsOf({ account, live, scripts = [] }: Page): readonly string[] {
  const ofAccount = account ? ['keyboard.js', 'menus.js'] : []
  return ['submit-once.js', 'times.js', ...ofAccount, ...scripts, ...(live ? ['live.js'] : [])]
}

export function notice(kind: 'error' | 'success', content: Content): Html {
  return html`<p class="notice ${kind}" role="${kind === 'error' ? 'alert' : 'status'}">${content}</p>`
}

export function printDate(date: Date): Html {
  const iso = date.toISOString()
  return html`<time datetime="${iso}" title="${iso}">${tellMinutes(date)}</time>`
}

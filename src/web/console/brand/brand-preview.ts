/**
 * The draft as account holders would see it: a few pages and a message, by day and by night. Nothing on them
 * does anything.
 */

import { listBrands } from '../../../brands/brand-acts.ts'
import { brandOf } from '../../../brands/brand-row.ts'
import type { Context } from '../../../context.ts'
import { fixMode, printLetterPage } from '../../../notices/letter.ts'
import { noticeWords } from '../../../notices/notice-words.ts'
import type { Brand, Mode } from '../../../vocabulary/brand.ts'
import type { Environment } from '../../../vocabulary/environment.ts'
import { scopes } from '../../../vocabulary/scope.ts'
import { pictureUrl } from '../../frame/assets.ts'
import { oneOf } from '../../frame/field.ts'
import { type Html, html } from '../../frame/html.ts'
import { pageHeaders, sendPage } from '../../frame/page.ts'
import { placeOf, setPlace } from '../../frame/place.ts'
import { readQuestion } from '../../frame/question.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Operator } from '../../gates/gates.ts'
import { printScope } from '../../parts/scope.ts'
import { homeOf, type PreviewPage, previewPages, printPreviews, siteOf } from './brand.ts'

const asked = {
  page: oneOf({ label: 'Page', of: previewPages }),
  mode: oneOf({ label: 'Mode', of: ['light', 'dark'] }),
}

export async function showPreview(visit: Visit, _operator: Operator) {
  const { context, reply } = visit
  const site = siteOf(visit)
  const { page = 'sign-in', mode = 'light' } = readQuestion(visit.query, asked).values
  const { draft } = await listBrands(context.db, site)
  const brand = draft ? brandOf(draft) : await context.brands.find(site)
  if (page === 'mail') return sendMail(visit, site, brand, mode)
  setPlace(reply, { ...placeOf(reply), brand, only: mode })
  const { title, body } = samples[page](context, brand)
  return sendPage(reply, {
    title,
    environment: site,
    body: html`<div class="card narrow"><p><strong>Preview.</strong>
      <a href="${homeOf(site)}">Back to the
      brand</a></p>${printPreviews(homeOf(site), { page, mode })}</div>${body}`,
  })
}

interface Sample {
  readonly title: string
  readonly body: Html
}

const samples: Readonly<Record<Exclude<PreviewPage, 'mail'>, (context: Context, brand: Brand) => Sample>> = {
  'sign-in': ({ baseUrl }) => ({
    title: 'Sign in',
    body: html`<section class="card narrow"><h1>Sign in</h1>
<p><strong>Portfolio</strong> by Example Apps Ltd asks for access to your account.
  Sign in to see what it asks for.</p>
<form><label>Username<input value="ada" readonly></label><label>Password<input type="password"
  value="not a password" readonly autocomplete="off"></label>
<button type="button" class="primary">Sign in</button></form>
<p class="small">Enter your password only on this site:
  <strong>${new URL(baseUrl).host}</strong></p></section>`,
  }),
  consent: () => ({
    title: 'Allow Portfolio?',
    body: html`<section class="card narrow"><h1>Allow <em>Portfolio</em> to use your account?</h1>
<p>Portfolio is an application of <strong>Example Apps Ltd</strong>. You are signed in as
  <strong>Ada Lovelace</strong>.</p>
<h2>It will be able to</h2><ul class="scopes">${scopes.map((scope) => printScope(scope))}</ul>
<form><div class="choices"><button type="button" class="primary">Allow</button>
  <button type="button">Deny</button></div></form>
<p class="small">Either way you return to
  <strong>app.example.com</strong>. The application never sees your password.</p></section>`,
  }),
  applications: () => ({
    title: 'Connected applications',
    body: html`<h1>Connected applications</h1>
<p class="notice success">Portfolio has access again.</p>
<p class="notice waiting">Paused since 2 March 2026. It has no access until you resume it.</p>
<article class="card application"><h2>Portfolio <span class="faint">by Example Apps Ltd</span></h2>
<dl><dt>Connected since</dt><dd>2 March 2026, 10:00 UTC</dd><dt>Accounts</dt><dd>6YD00001</dd></dl>
<div class="acts"><button type="button">Pause</button>
  <button type="button" class="danger">Revoke access</button></div></article>`,
  }),
  error: () => ({
    title: 'Page not found',
    body: html`<section class="card narrow"><h1>Page not found</h1><p class="notice error">There is nothing at
      this address.</p>
<p class="small">You can close this page or go back. If you ask for help, mention request
  <code>sample</code>.</p></section>`,
  }),
}

/** As it is sent, but that the logo comes from here. It brings its own styles, and nothing else is let in. */
function sendMail({ context, reply }: Visit, site: Environment, brand: Brand, mode: Mode) {
  const { environment, baseUrl, sisterUrl, vault, clock } = context
  const [live, sandbox] = environment === 'live' ? [baseUrl, sisterUrl] : [sisterUrl, baseUrl]
  const facts = {
    environment: site,
    address: '192.0.2.7',
    userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0',
  }
  const notice = {
    ...{
      id: 0,
      email: 'ada@example.com',
      name: 'Ada Lovelace',
      key: '',
      attempts: 1,
      createdAt: clock.now(),
    },
    ...{ kind: 'sign-in' as const, facts },
  }
  const { letter, subject } = noticeWords(notice, { live, sandbox }, vault, { live: brand, sandbox: brand })
  const picture = brand.logo.light
  const logo = picture && 'hash' in picture && picture.type === 'image/png' ? pictureUrl(picture) : undefined
  return reply
    .headers({
      ...pageHeaders(),
      'content-security-policy':
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    })
    .type('text/html; charset=utf-8')
    .send(fixMode(printLetterPage(letter!, subject, logo), mode))
}

/** The portal for somebody who is not signed in: what it is, and how to become a partner. */
import { html } from '../../frame/html.ts'
import { onLiveSite } from '../../frame/other-site.ts'
import { sendPage } from '../../frame/page.ts'
import { placeOf } from '../../frame/place.ts'
import type { Visit } from '../../frame/visit.ts'

export function sendStranger({ context, reply }: Visit) {
  const { name } = placeOf(reply).brand
  const isLive = context.environment === 'live'
  const apply = isLive
    ? html`<a class="button primary" href="/login?return=%2Fpartner">Sign in and apply</a>`
    : html`<a class="button primary" href="/login?return=%2Fpartner">Sign in</a>
  <a class="button" href="${onLiveSite(context, '/partner')}">Apply on the live site</a>`
  return sendPage(reply, {
    title: 'Partner portal',
    environment: context.environment,
    wide: true,
    body: html`<section class="card"><h1>Build an application for customers of ${name}</h1>
<p>Partners connect their applications to ${name}. Customers choose what an application may see and do, and can
  take it back at any time.</p>
<ul>
<li><strong>OAuth 2.0</strong>: customers sign in here and approve your application. You never see a password.</li>
<li><strong>Signed webhooks</strong>: what happens is sent to your server, in order, and again until it arrives.</li>
<li><strong>A sandbox</strong>: test accounts, test events and a built-in receiver. It needs no server.</li>
</ul>
<p class="acts">${apply}</p></section>
<section class="card"><h2>How to become a partner</h2>
<ol>
<li><strong>Sign in</strong> with your account at ${name}.</li>
<li><strong>Apply</strong>: the name of your company, its website, and what you want to build.</li>
<li><strong>Try it</strong>: the sandbox is yours as soon as you have applied.</li>
<li><strong>Go live</strong>: ${name} reads each application and tells you by e-mail when the live site is open.</li>
</ol>
<p><strong>Does your company have a partner here already?</strong> Ask one of its owners to invite you: the link
  in the invitation is the way in.</p>
<p><strong>No account?</strong> ${name} opens accounts; this site does not.</p></section>`,
  })
}

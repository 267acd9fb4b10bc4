/** For a test holder at a page that is for people: what they are for, and how to come in as oneself. */
import { Forbidden } from '../../problem.ts'
import { html } from './html.ts'
import { sendPage } from './page.ts'
import type { Visit } from './visit.ts'
import type { UserSession } from './visitor.ts'

const words =
  'Test holders sign in to see and approve what account holders would. They have no settings, no tokens and no partner.'

export function refuseTestHolder(
  { context, request, reply }: Visit,
  { session, forms }: UserSession,
): undefined {
  if (request.method === 'POST') throw new Forbidden(words)
  request.refusal = { code: 'forbidden' }
  sendPage(reply, {
    title: 'This is not for test holders',
    environment: context.environment,
    status: 403,
    account: { user: session.user, forms, here: '/account' },
    body: html`<section class="card narrow">
<h1>This is not for test holders</h1>
<p>You are signed in as <strong>${session.user.name}</strong>, a test holder. ${words}</p>
<p><a class="button primary" href="/login/live?return=${encodeURIComponent(request.url)}">Go on as on the live site</a>
  <a class="button" href="/account">Connected applications</a></p>
</section>`,
  })
}

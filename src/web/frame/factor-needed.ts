/** What an operator is told who has no second factor, where the brokerage demands one. */
import { html } from './html.ts'
import { sendPage } from './page.ts'
import type { Visit } from './visit.ts'
import type { SignedIn } from './visitor.ts'

export function sendFactorNeeded({ context, reply }: Visit, { session, csrf }: SignedIn): undefined {
  sendPage(reply, {
    title: 'Set up two-factor sign-in first',
    environment: context.environment,
    status: 403,
    account: { user: session.user, csrf, here: '/console' },
    body: html`<section class="card narrow">
<h1>Set up two-factor sign-in first</h1>
<p>The console can stop partners and lock people out. It opens to operators who have shown, with a second factor, that it is them.</p>
<p><a class="button primary" href="/account/security">Set it up now</a></p>
<p>Then <a href="/console">come back to the console</a>.</p>
</section>`,
  })
}

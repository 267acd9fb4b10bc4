/** Security: how the account is guarded, and the way to each of it. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import type { Form } from '../http/form.ts'
import { sendAccountPage } from './account-page.ts'
import { html } from './html.ts'
import { notice } from './page.ts'
import { requireSignIn } from './visitor.ts'

const here = '/account/security'

/** What was just done, told once by the page that follows. */
const doneWords: Record<string, string> = {
  password: 'Your password is changed. You are signed out everywhere else.',
}

export async function showSecurity(context: Context, request: FastifyRequest, reply: FastifyReply) {
  const visitor = await requireSignIn(context, request, reply, here)
  if (!visitor) return reply
  const done = findDone(request.query as Form)
  return sendAccountPage(context, reply, visitor, {
    title: 'Security',
    here,
    body: html`<h1>Security</h1>
${done !== undefined && notice('success', done)}
<section class="card">
<h2>Password</h2>
<p>Known to you alone. A change signs you out everywhere else.</p>
<p><a class="button" href="/account/password">Change password</a></p>
</section>`,
  })
}

function findDone({ done }: Form): string | undefined {
  return typeof done === 'string' && Object.hasOwn(doneWords, done) ? doneWords[done] : undefined
}

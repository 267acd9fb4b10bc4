/** For a member whose role does not reach: which one it takes, and who can give it. */

import { listMembers, type PartnerMembership } from '../../partners/partner.ts'
import type { MemberRole } from '../../vocabulary/member-role.ts'
import { roleWords } from '../../vocabulary/role-words.ts'
import { type Html, html } from './html.ts'
import { sendPage } from './page.ts'
import type { Visit } from './visit.ts'
import type { UserSession } from './visitor.ts'

interface RefusedMember extends UserSession {
  readonly partner: PartnerMembership
  readonly home: string
}

export async function sendRoleNeeded(
  visit: Visit,
  member: RefusedMember,
  least: MemberRole,
): Promise<undefined> {
  const { context, request, reply } = visit
  const { partner, session, forms, home } = member
  const members = await listMembers(context.db, partner)
  const owners = members.filter(({ role }) => role === 'owner')
  request.refusal = { code: 'forbidden' }
  sendPage(reply, {
    title: `This needs the ${least} role`,
    environment: context.environment,
    status: 403,
    account: { user: session.user, forms, here: home },
    body: html`<section class="card narrow">
<h1>This needs the ${least} role</h1>
<p>You are ${roleWords[partner.role].title} of ${partner.name}.</p>
${
  owners.length === 0
    ? html`<p>It has no owner at present.
  Ask the brokerage to name one.</p>`
    : printOwners(owners)
}
<p><a class="button primary" href="${home}">Back to ${partner.name}</a></p>
</section>`,
  })
}

function printOwners(owners: readonly { readonly name: string; readonly username: string }[]): Html {
  const items = owners.map(
    ({ name, username }) => html`<li><strong>${name}</strong> <span class="faint">${username}</span></li>`,
  )
  return html`<p>Its owners can change your role:</p><ul>${items}</ul>`
}

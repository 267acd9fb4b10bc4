/** What is behind the link of an invitation, whoever follows it. */
import type { Token } from '../../../crypto/token.ts'
import { parseLinkToken } from '../../../notices/invitation-link.ts'
import { findInvitation, type Invitation } from '../../../partners/invitation.ts'
import { roleWords } from '../../../vocabulary/role-words.ts'
import { type Content, type Html, html } from '../../frame/html.ts'
import { printDate, sendPage } from '../../frame/page.ts'
import { facts } from '../../frame/parts.ts'
import { paramsOf, type Visit } from '../../frame/visit.ts'
import type { UserSession } from '../../frame/visitor.ts'
import { sendEntrance } from '../frame/portal.ts'

export function tokenOf({ request }: Visit): Token | undefined {
  return parseLinkToken(paramsOf(request).token)
}

export async function openInvitation(visit: Visit): Promise<Invitation | undefined> {
  const { db, clock } = visit.context
  const token = tokenOf(visit)
  return token && findInvitation(db, token, clock.now())
}

export function printTerms(
  { role, invitedBy, expiresAt }: Invitation,
  more: readonly (readonly [string, Content])[] = [],
): Html {
  return facts([
    ['Your role', html`<strong>${role}</strong><br>${roleWords[role].text}`],
    ['Invited by', invitedBy ?? 'the brokerage'],
    ['Expires', printDate(expiresAt)],
    ...more,
  ])
}

/** The same for every reason: a stranger who tries links learns nothing. */
export function sendGone(visit: Visit, visitor: UserSession | undefined) {
  const page = {
    title: 'This invitation no longer works',
    status: 404,
    body: html`<section class="card narrow"><h1>This invitation no longer works</h1>
<p>It was accepted or declined, was withdrawn or sent again with a new link, or is older than seven days.
  Ask whoever invited you to send it again.</p>
<p><a class="button" href="/partner">Partner portal</a></p></section>`,
  }
  if (visitor) return sendEntrance(visit, visitor, page)
  return sendPage(visit.reply, { ...page, environment: visit.context.environment })
}

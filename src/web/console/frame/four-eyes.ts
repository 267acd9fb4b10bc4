/**
 * Acts that may take two people, as the console offers and does them: at once, or as a proposal that another
 * operator decides.
 */

import type { ProposedActs, WiredKind } from '../../../proposals/acts.ts'
import { proposableActs } from '../../../proposals/acts.ts'
import { carryOut, listOpenProposals, type Proposal } from '../../../proposals/proposal.ts'
import type { ProposalKind } from '../../../vocabulary/proposal-kind.ts'
import { askFirst, readWhy } from '../../frame/ask.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import { type Content, type Html, html } from '../../frame/html.ts'
import { csrfField } from '../../frame/page.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Operator, StrongOperator } from '../../gates/gates.ts'

export const proposalsPage = '/console/proposals'

export function takesTwo({ context }: Visit, kind: ProposalKind): boolean {
  return context.config.fourEyes.includes(kind)
}

/** `then` answers when it was done, or found done or gone; a proposal is answered with its page. */
export async function actOrPropose<Kind extends WiredKind>(
  visit: Visit,
  operator: StrongOperator,
  kind: Kind,
  values: ProposedActs[Kind],
  then: (isDone: boolean) => unknown,
) {
  const { db, config } = visit.context
  const act = takesTwo(visit, kind) ? { ...operator.act, reason: readWhy(visit.request) } : operator.act
  const outcome = await carryOut({ db, fourEyes: config.fourEyes }, kind, values, act)
  if (outcome.kind !== 'proposed') return then(outcome.kind === 'done')
  const text = outcome.isNew
    ? 'Proposed. Somebody else has to approve it.'
    : 'It was proposed already, and waits for somebody to approve it.'
  const link = { path: proposalsPage, label: 'All proposals' }
  return leadToDone(visit, operator, `${proposalsPage}/${outcome.id}`, { text, link })
}

/** What waits for a second person, by what it is about. */
export interface Offers {
  takesTwo(kind: WiredKind): boolean
  findWaiting(kind: WiredKind, subject: string): Proposal | undefined
}

const waitingAtMost = 200

export async function readOffers(visit: Visit): Promise<Offers> {
  const { db, clock } = visit.context
  const kinds = Object.keys(proposableActs) as WiredKind[]
  const waiting = await listOpenProposals(db, kinds, clock.now(), waitingAtMost)
  return {
    takesTwo: (kind) => takesTwo(visit, kind),
    findWaiting: (kind, subject) => waiting.find((each) => each.kind === kind && each.subject === subject),
  }
}

interface Offer {
  readonly kind: WiredKind
  readonly subject: string
  readonly action: string
  readonly label: string
  /** For people who use a screen reader. */
  readonly of?: string
  readonly fields?: Readonly<Record<string, string | number>>
  /** More to fill in. */
  readonly more?: Content
  readonly look?: 'primary' | 'plain' | ''
}

/** A button that does it; where it takes two people a question for the reason, or the proposal that waits. */
export function printOffer(offers: Offers, { csrf }: Pick<Operator, 'csrf'>, offer: Offer): Html {
  const { kind, subject, action, label, of, fields = {}, more, look = '' } = offer
  const waiting = offers.findWaiting(kind, subject)
  if (waiting)
    return html`<p>${label}: proposed by ${waiting.proposedByName}, waits for a second person.
      <a href="${proposalsPage}/${waiting.id}">See the proposal</a></p>`
  const text = 'Somebody else has to approve it. They read the reason.'
  const asked = { action, csrf, fields, ...(of !== undefined && { of }), ...(more !== undefined && { more }) }
  if (offers.takesTwo(kind))
    return askFirst({ ...asked, label: `Propose: ${label}`, text, why: true, isGift: true })
  const hidden = Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )
  return html`<form method="post" action="${action}">${csrfField(csrf)}${hidden}${more}<button
    class="${look}">${label}${of !== undefined && html`<span class="unseen"> ${of}</span>`}</button></form>`
}

/**
 * Acts that may take two people, as the console offers and does them: at once, or as a proposal that another
 * operator decides.
 */

import { Invalid } from '../../../problem.ts'
import type { ProposedActs, WiredKind } from '../../../proposals/acts.ts'
import { proposableActs } from '../../../proposals/acts.ts'
import { carryOut, listOpenProposals, type Proposal } from '../../../proposals/proposal.ts'
import { isAmong, type ProposalKind } from '../../../vocabulary/proposal-kind.ts'
import type { Field } from '../../frame/field.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Fields, FormDefinition } from '../../frame/form.ts'
import type { FormView } from '../../frame/form-view.ts'
import { type Content, type Html, html } from '../../frame/html.ts'
import type { PrintOptions } from '../../frame/page-forms.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Operator, StrongOperator } from '../../gates/gates.ts'

export const proposalsPage = '/console/proposals'

export function takesTwo({ context }: Visit, kind: ProposalKind): boolean {
  return isAmong(context.config.fourEyes, kind)
}

interface Wish<Kind extends WiredKind> {
  readonly kind: Kind
  readonly values: ProposedActs[Kind]
  /** As the form says it; demanded where it takes two people. */
  readonly reason: string
}

/** `then` answers when it was done, or found done or gone; a proposal is answered with its page. */
export async function actOrPropose<Kind extends WiredKind>(
  visit: Visit,
  operator: StrongOperator,
  { kind, values, reason }: Wish<Kind>,
  then: (isDone: boolean) => unknown,
) {
  const { db, config } = visit.context
  if (takesTwo(visit, kind) && reason === '')
    throw new Invalid([{ field: 'reason', problem: 'must not be empty: somebody else has to approve it' }])
  const act = takesTwo(visit, kind) ? { ...operator.act, reason } : operator.act
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

interface Offer<Named extends Fields> extends PrintOptions<Named> {
  readonly kind: WiredKind
  readonly subject: string
  readonly label: string
  /** For people who use a screen reader. */
  readonly of?: string
  /** More to fill in. */
  readonly more?: (view: FormView<Named>) => Content
  readonly buttonLook?: 'primary' | 'plain'
}

/** A form with a reason, which one person alone does not have to give: `reason({ isOptional: true })`. */
type OfferedFields = Fields & { readonly reason: Field<string> }

/** A button that does it; where it takes two people a question for the reason, or the proposal that waits. */
export function printOffer<Named extends OfferedFields>(
  offers: Offers,
  { forms }: Pick<Operator, 'forms'>,
  form: FormDefinition<Named>,
  offer: Offer<Named>,
): Html {
  const { kind, subject, label, of, more, buttonLook, ...options } = offer
  const waiting = offers.findWaiting(kind, subject)
  if (waiting)
    return html`<p>${label}: proposed by ${waiting.proposedByName}, waits for a second person.
      <a href="${proposalsPage}/${waiting.id}">See the proposal</a></p>`
  const words = { ...(of !== undefined && { of }), ...(buttonLook !== undefined && { look: buttonLook }) }
  if (!offers.takesTwo(kind))
    return forms.print(form, options, (view) => html`${more?.(view)}${view.button(label, words)}`)
  const text = 'Somebody else has to approve it. They read the reason.'
  const asked = { ...options, label: `Propose: ${label}`, of, text, isGift: true } as const
  return forms.ask(form, asked, (view) => html`${more?.(view)}${view.field('reason', { isRequired: true })}`)
}

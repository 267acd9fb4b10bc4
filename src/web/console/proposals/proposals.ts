/** What waits for a second person, and what became of what was proposed. */

import { NotFound } from '../../../problem.ts'
import type { ProposedState } from '../../../proposals/acts.ts'
import { findRefusal } from '../../../proposals/deciders.ts'
import {
  decideProposal,
  getProposal,
  kindsSeenBy,
  listOpenProposals,
  listPastProposals,
  outcomeOf,
  type Proposal,
  type ProposalOutcome,
  readShown,
  withdrawProposal,
} from '../../../proposals/proposal.ts'
import { proposalWords } from '../../../vocabulary/proposal-words.ts'
import { printAgo, printUntil } from '../../frame/ago.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForFile, fileRowsAtMost, type List, type ListColumn, sendListFile } from '../../frame/list.ts'
import { notice, printDate } from '../../frame/page.ts'
import { badge, crumbs, facts, type Tone } from '../../frame/parts.ts'
import { printFileLink } from '../../frame/saved-views.ts'
import { idOf, paramsOf, type Visit } from '../../frame/visit.ts'
import { type Operator, operatorWatcher, type StrongOperator } from '../../gates/gates.ts'
import { sendConsole } from '../frame/console.ts'
import { proposalsPage } from '../frame/four-eyes.ts'
import { findNames, type Names, printName } from '../frame/names.ts'
import * as forms from './forms.ts'

type Shows = ProposedState['shows']

const openAtMost = 100
const pastAtMost = 50

export async function showProposals(visit: Visit, operator: Operator) {
  const { db, clock } = visit.context
  const now = clock.now()
  if (asksForFile(visit))
    return sendListFile(visit, operator, operatorWatcher(visit, operator), listOf(visit, operator))
  const open = await listOpenProposals(db, kindsSeenBy(operator.may), now, openAtMost)
  const past = await listPastProposals(db, kindsSeenBy(operator.may), now, pastAtMost)
  const names = await findNames(db, subjectsOf([...open, ...past]), operator)
  return sendConsole(visit, operator, {
    title: 'Proposals',
    section: proposalsPage,
    body: html`<h1>Proposals</h1>
<p>Acts that take two people: one proposes, another approves. A proposal counts while nothing has changed
  since it was made, for three days at most.</p>
${printFileLink(proposalsPage)}
<section class="card"><h2>Waiting</h2>${printCards(open, names, now, 'Nothing waits for a second person.')}</section>
<section class="card"><h2>Decided</h2>${printCards(past, names, now, 'There is none yet.')}</section>`,
  })
}

interface ListedProposal {
  readonly proposal: Proposal
  readonly names: Names
}

/** Those that wait, and then what became of the others. */
function listOf({ context }: Visit, operator: Operator): List<ListedProposal> {
  const { db, clock } = context
  const kinds = kindsSeenBy(operator.may)
  return {
    name: 'proposals',
    caption: 'Proposals',
    empty: 'There is none yet.',
    recordedAs: 'list:proposals',
    columns: columnsAt(clock.now()),
    async read() {
      const now = clock.now()
      const open = await listOpenProposals(db, kinds, now, fileRowsAtMost)
      const all = [...open, ...(await listPastProposals(db, kinds, now, fileRowsAtMost))]
      const names = await findNames(db, subjectsOf(all), operator)
      return { rows: all.map((proposal) => ({ proposal, names })), next: undefined }
    },
  }
}

const columnsAt = (now: Date): readonly ListColumn<ListedProposal>[] => [
  { name: 'Proposal', text: ({ proposal }) => proposal.id },
  { name: 'State', text: ({ proposal }) => outcomeWords(outcomeOf(proposal, now)) },
  { name: 'What', text: ({ proposal }) => proposalWords[proposal.kind] },
  { name: 'Of', text: ({ proposal: { subject }, names }) => names.get(subject)?.name ?? subject },
  { name: 'Proposed by', text: ({ proposal }) => proposal.proposedByName },
  { name: 'Reason', text: ({ proposal }) => proposal.reason },
  { name: 'Proposed (UTC)', text: ({ proposal }) => proposal.proposedAt },
  { name: 'Expires (UTC)', text: ({ proposal }) => proposal.expiresAt },
  { name: 'Decided by', text: ({ proposal }) => proposal.decidedByName },
  { name: 'Decided (UTC)', text: ({ proposal }) => proposal.decidedAt },
  { name: 'Reason for the decision', text: ({ proposal }) => proposal.decisionReason },
]

export function subjectsOf(proposals: readonly Proposal[]): string[] {
  return [...new Set(proposals.map(({ subject }) => subject))]
}

function printCards(proposals: readonly Proposal[], names: Names, now: Date, empty: string): Html {
  if (proposals.length === 0) return html`<p class="empty">${empty}</p>`
  return html`<ul class="tokens">${proposals.map((each) => printProposal(each, names, now))}</ul>`
}

export function printProposal(proposal: Proposal, names: Names, now: Date): Html {
  const { id, subject, kind, proposedByName, proposedAt, reason } = proposal
  const outcome = outcomeOf(proposal, now)
  return html`<li><div>${outcomeBadge(outcome)}
    <a href="${proposalsPage}/${id}"><strong>Proposal ${id}</strong></a>:
    ${proposalWords[kind]} ${printName(subject, names)}<br>
<span class="faint">by ${proposedByName} ${printAgo(proposedAt, now)}${
    outcome === null &&
    html`,
  expires ${printUntil(proposal.expiresAt, now)}`
  }</span> “${reason}”</div></li>`
}

const outcomeTones: Readonly<Record<ProposalOutcome, Tone>> = {
  applied: 'good',
  declined: 'bad',
  withdrawn: 'off',
  outdated: 'off',
  expired: 'off',
}

const outcomeLabels: Readonly<Record<ProposalOutcome, string>> = {
  applied: 'approved',
  declined: 'declined',
  withdrawn: 'withdrawn',
  outdated: 'out of date',
  expired: 'expired',
}

function outcomeBadge(outcome: ProposalOutcome | null): Html {
  return badge(outcome === null ? 'wait' : outcomeTones[outcome], outcomeWords(outcome))
}

function outcomeWords(outcome: ProposalOutcome | null): string {
  return outcome === null ? 'needs a second person' : outcomeLabels[outcome]
}

async function proposalOf({ context, request }: Visit, operator: Operator): Promise<Proposal> {
  const proposal = await getProposal(context.db, idOf(paramsOf(request).id))
  if (!kindsSeenBy(operator.may).includes(proposal.kind)) throw new NotFound('There is no such proposal.')
  return proposal
}

export async function showProposal(visit: Visit, operator: Operator) {
  const { db, clock } = visit.context
  const now = clock.now()
  const proposal = await proposalOf(visit, operator)
  const { shows, changed } = await readShown(db, proposal)
  const names = await findNames(db, [proposal.subject], operator)
  const { id, kind, subject, proposedByName, proposedAt, reason, values, expiresAt } = proposal
  const outcome = outcomeOf(proposal, now)
  return sendConsole(visit, operator, {
    title: `Proposal ${id}`,
    section: proposalsPage,
    body: html`${crumbs([{ path: proposalsPage, label: 'Proposals' }])}
<h1>Proposal ${id} ${outcomeBadge(outcome)}</h1>
<section class="card">${facts([
      [
        'What',
        html`${capitalized(proposalWords[kind])} ${printAs(subject, names, Object.values(shows)[0]!)}`,
      ],
      ...Object.entries(shows),
      ['Proposed by', html`${proposedByName}, ${printDate(proposedAt)}`],
      ['Reason', reason],
      [outcome === 'expired' ? 'Expired' : 'Expires', printDate(expiresAt)],
      [
        'Decided by',
        proposal.decidedByName !== null && html`${proposal.decidedByName}, ${printDate(proposal.decidedAt!)}`,
      ],
      ['Reason for the decision', proposal.decisionReason ?? undefined],
    ])}
<details><summary>Exactly what is
  done</summary><pre>${JSON.stringify({ kind, ...values }, undefined, 2)}</pre></details></section>
${outcome === null && changed !== undefined && notice('error', printChanges(shows, changed))}
${outcome === null && (await printDecision(visit, operator, proposal, changed === undefined))}`,
  })
}

/** By the name that it was proposed with, whatever it is called now. */
function printAs(subject: string, names: Names, name: string): Html {
  return printName(subject, new Map([[subject, { ...names.get(subject), name }]]))
}

function printChanges(before: Shows, now: Shows | null): Html {
  if (now === null)
    return html`There is nothing to be done any more: something has changed since it was proposed.`
  const labels = [...new Set([...Object.keys(before), ...Object.keys(now)])].filter(
    (each) => before[each] !== now[each],
  )
  const changes = labels.map((each) => html`<br>${each}: “${before[each] ?? '–'}”, now “${now[each] ?? '–'}”`)
  return html`Something has changed since it was proposed: approved, nothing would be done. Decline it,
    or let it be proposed anew.${changes}`
}

function capitalized(words: string): string {
  return words[0]!.toUpperCase() + words.slice(1)
}

async function printDecision(
  { context }: Visit,
  operator: Operator,
  proposal: Proposal,
  isFit: boolean,
): Promise<Html> {
  const { forms: on } = operator
  if (proposal.proposedBy === operator.session.user.id)
    return html`<section class="card"><h2>Decision</h2><p>You proposed this. Somebody else has to decide.</p>
${operator.may('proposals.decide') && on.ask(forms.withdrawProposal, { label: 'Withdraw', text: 'It can no longer be approved.' })}</section>`
  const refusal = await findRefusal(
    context.db,
    proposal,
    operator.session.user.id,
    operator.roles,
    context.clock.now(),
  )
  if (refusal) return html`<section class="card"><h2>Decision</h2><p>${refusal}</p></section>`
  const approve = isFit && on.button(forms.approveProposal, 'Approve', { buttonLook: 'primary' })
  return html`<section class="card"><h2>Decision</h2>${
    isFit &&
    html`<p>Approved, it is done at once,
    under both your names.</p>`
  }
<div class="acts">${approve}
${on.ask(forms.declineProposal, { label: 'Decline', text: 'It can be proposed again.' })}</div></section>`
}

const endedWords: Readonly<Record<ProposalOutcome, string>> = {
  applied: 'It is approved and done.',
  declined: 'The proposal is declined.',
  withdrawn: 'The proposal is withdrawn.',
  outdated: 'Nothing was done: something has changed since it was proposed. Look again, and propose it anew.',
  expired: 'Nothing was done: the proposal has expired.',
}

export const approveProposal = verdictForm('approve')
export const declineProposal = verdictForm('decline')

function verdictForm(verdict: 'approve' | 'decline') {
  return async (visit: Visit, operator: StrongOperator) => {
    const { id } = await proposalOf(visit, operator)
    return tell(visit, operator, id, await decideProposal(visit.context.db, id, verdict, operator))
  }
}

export async function withdraw(visit: Visit, operator: StrongOperator) {
  const { id } = await proposalOf(visit, operator)
  return tell(visit, operator, id, await withdrawProposal(visit.context.db, id, operator.act))
}

function tell(visit: Visit, operator: StrongOperator, id: number, outcome: ProposalOutcome) {
  const link = { path: proposalsPage, label: 'All proposals' }
  return leadToDone(visit, operator, `${proposalsPage}/${id}`, { text: endedWords[outcome], link })
}

/** What another person has to decide, and what became of it. A credential withdraws its own, and decides nothing. */
import { whileStanding } from '../../administration/standing.ts'
import { Conflict, NotFound } from '../../problem.ts'
import {
  getProposal,
  kindsSeenBy,
  outcomeOf,
  type Proposal,
  pageProposals,
  proposalOutcomes,
  withdrawProposal,
} from '../../proposals/proposal.ts'
import { proposalKinds } from '../../vocabulary/proposal-kind.ts'
import { instant, integer, oneOf, Type, text } from '../../vocabulary/schema.ts'
import type { Endpoint } from '../frame/route.ts'
import type { Administrator } from '../gates/admin-gate.ts'
import {
  actFor,
  administration,
  instantOrNull,
  limit,
  mayOf,
  NumberCursor,
  nextPage,
  numberParam,
  orNull,
  type Paged,
  printPage,
  ReasonQuery,
  readPage,
  refuseSandbox,
} from './frame.ts'

const states = ['open', ...proposalOutcomes] as const

const ProposalResource = Type.Object(
  {
    id: integer('Its number.', 7),
    kind: oneOf(proposalKinds, { description: 'What is proposed.' }),
    subject: text('Whom or what it is done to, as the audit log has it.', 'branch:10017'),
    shows: Type.Unsafe<Readonly<Record<string, string>>>({
      type: 'object',
      title: 'ProposalFacts',
      additionalProperties: { type: 'string' },
      description: 'What it was proposed on, as whoever decides reads it.',
      examples: [{ Partner: 'Acme' }],
    }),
    reason: text('Why.', 'Ticket 4711'),
    state: oneOf(states, {
      description: '`outdated`: something had changed since it was proposed, and nothing was done.',
    }),
    proposedBy: text('By whom, or for whom: the id of a user.', 'id-k3jf8s2a1f0z'),
    credential: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      format: 'int64',
      description: 'The number of the credential that proposed it for them.',
      examples: [3],
    }),
    proposedAt: instant('When it was proposed'),
    expiresAt: instant('When it ends by itself'),
    decidedAt: instantOrNull('When it was decided'),
    decidedBy: orNull('Who decided, by name.', 'Otto Other'),
    decisionReason: orNull('Why it was decided so.', 'They passed.'),
  },
  { title: 'Proposal', description: 'An act that takes another person.' },
)

function printer(now: Date) {
  return (proposal: Proposal) => {
    const { id, kind, subject, reason, proposedBy, credentialId, proposedAt, expiresAt } = proposal
    const { shows } = JSON.parse(proposal.state) as { shows: Readonly<Record<string, string>> }
    return {
      ...{ id, kind, subject, shows, reason, state: outcomeOf(proposal, now) ?? 'open', proposedBy },
      credential: credentialId,
      proposedAt: proposedAt.getTime(),
      expiresAt: expiresAt.getTime(),
      decidedAt: proposal.decidedAt?.getTime() ?? null,
      decidedBy: proposal.decidedByName,
      decisionReason: proposal.decisionReason,
    }
  }
}

export const listProposals: Endpoint<
  Administrator,
  { Querystring: Paged & { readonly open?: 'true' | 'false' } }
> = {
  schema: {
    ...administration,
    operationId: 'listProposals',
    summary: 'List proposals',
    description: 'Of what the role may look at. Newest first.',
    querystring: Type.Object(
      {
        cursor: NumberCursor,
        limit,
        open: Type.Optional(
          oneOf(['true', 'false'], {
            description: '`true`: those that wait; `false`: those that have ended.',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    response: {
      200: Type.Object(
        { items: Type.Array(ProposalResource, { description: 'Newest first.' }), next: nextPage },
        { title: 'ProposalPage', description: 'Some of them.' },
      ),
    },
  },
  async handle(context, caller, request) {
    refuseSandbox(context)
    const now = context.clock.now()
    const { open } = request.query
    const { before, most } = readPage(request.query)
    const page = { before, most: most + 1, isOpen: open === undefined ? undefined : open === 'true' }
    return printPage(
      await pageProposals(context.db, kindsSeenBy(mayOf(caller.act)), page, now),
      most,
      printer(now),
    )
  },
}

const Params = Type.Object({ id: numberParam('The number of the proposal.') })
type OfProposal = { Params: { readonly id: number } }

export const fetchProposal: Endpoint<Administrator, OfProposal> = {
  schema: {
    ...administration,
    operationId: 'getProposal',
    summary: 'Fetch a proposal',
    description: 'And what became of it.',
    params: Params,
    response: { 200: ProposalResource },
  },
  async handle(context, caller, request) {
    refuseSandbox(context)
    const found = await getProposal(context.db, request.params.id)
    if (!kindsSeenBy(mayOf(caller.act)).includes(found.kind)) throw new NotFound('There is no such proposal.')
    return printer(context.clock.now())(found)
  },
}

export const withdraw: Endpoint<Administrator, OfProposal & ReasonQuery> = {
  schema: {
    ...administration,
    operationId: 'withdrawProposal',
    summary: 'Withdraw a proposal',
    description: 'By the credential that made it: nobody can approve it any more.',
    params: Params,
    querystring: ReasonQuery,
    response: { 200: ProposalResource },
    mayConflict: true,
  },
  handle(context, caller, request) {
    refuseSandbox(context)
    const { id } = request.params
    const act = actFor(caller, request.query)
    return whileStanding(context.db, 'proposals.decide', act, async (sql) => {
      const outcome = await withdrawProposal(sql, id, act)
      if (outcome !== 'withdrawn') throw new Conflict(`Proposal ${id} has ended: it is ${outcome}.`)
      return printer(act.at)(await getProposal(sql, id))
    })
  },
}

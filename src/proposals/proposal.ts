/**
 * Four eyes (maker-checker). An operator who wants something done that takes two people proposes exactly
 * that, on the state in front of them; another person who may do it, freshly signed in, decides. It is done
 * in the transaction of the decision, and only while the state is still the same. No operator decides about
 * what they proposed themselves, or about themselves; no role is exempt (decision 0025).
 */
import { type Act, personOf as findPerson, recordAct } from '../audit/audit.ts'
import { permissionOfKind } from '../audit/powers.ts'
import { after, day } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { memberLimits } from '../notices/notice.ts'
import { ownPartnerWords } from '../partners/own-partner.ts'
import { Forbidden, NotFound } from '../problem.ts'
import { findStandingRole } from '../users/admin-credential.ts'
import { hasProvenFactor } from '../users/second-factor.ts'
import { isFresh, type Session } from '../users/session.ts'
import { listRolesOf, listRolesOfActor } from '../users/staff-role.ts'
import { lockActiveOperators } from '../users/users.sql.ts'
import { type Permission, rolesWith } from '../vocabulary/permission.ts'
import type { ProposalKind } from '../vocabulary/proposal-kind.ts'
import { openWanted, type ProposedActs, type ProposedState, proposableActs, type WiredKind } from './acts.ts'
import { findRefusal, isOwnOf, permissionsFor, permitAll } from './deciders.ts'
import * as table from './proposals.sql.ts'

/** Then it has ended by itself. */
const waitsMs = 3 * day

export interface Proposal {
  readonly id: number
  readonly kind: WiredKind
  readonly subject: string
  /** The exact act. */
  readonly values: object
  /** That it was made on, printed. */
  readonly state: string
  readonly reason: string
  readonly proposedBy: string
  readonly proposedByName: string
  /** The credential that proposed it for them, and who of the staff reads it. */
  readonly credentialId: number | null
  readonly readers: readonly string[]
  readonly proposedAt: Date
  readonly expiresAt: Date
  readonly outcome: ProposalOutcome | null
  readonly decidedAt: Date | null
  readonly decidedByName: string | null
  readonly decisionReason: string | null
}

export const proposalOutcomes = ['applied', 'declined', 'withdrawn', 'outdated', 'expired'] as const
export type ProposalOutcome = (typeof proposalOutcomes)[number]

interface FourEyesDependencies {
  readonly db: Sql
  /** Which kinds take two people. */
  readonly fourEyes: readonly ProposalKind[]
}

export type DecisionResult =
  | { readonly kind: 'done' | 'moved on' }
  | { readonly kind: 'proposed'; readonly id: number; readonly isNew: boolean }

/** An act, and why it is to be done: the decider reads it. */
type ReasonedAct = Act & { readonly reason: string }

/** Does it at once, or proposes it where the brokerage wants four eyes. */
export async function carryOut<Kind extends WiredKind>(
  { db, fourEyes }: FourEyesDependencies,
  kind: Kind,
  values: ProposedActs[Kind],
  act: Act,
): Promise<DecisionResult> {
  const { readState, isHarmless, apply } = proposableActs[kind]
  return db.transaction(async (sql) => {
    if (await isOwnOf(sql, { kind, values }, personOf(act), act.at)) throw new Forbidden(ownPartnerWords)
    const takesTwo = fourEyes.includes(kind)
    if (takesTwo) await sql.query(lockActiveOperators)
    const state = await readState(sql, values)
    if (!state) return { kind: 'moved on' }
    if (takesTwo && !(await isHarmless?.(sql, values, act.at))) return propose(sql, kind, values, state, act)
    return { kind: (await apply(sql, values, act)) ? 'done' : 'moved on' }
  })
}

async function propose<Kind extends WiredKind>(
  sql: Sql,
  kind: Kind,
  values: ProposedActs[Kind],
  state: object,
  act: Act,
): Promise<DecisionResult> {
  const by = personOf(act)
  const needed = await permissionsFor(sql, { kind, values })
  if (!permitAll(await listRolesOfActor(sql, act.by), needed))
    throw new Forbidden('You may not propose this any more.')
  if (!isReasoned(act)) throw new Error(`${kind} is proposed without a reason.`)
  const subject = proposableActs[kind].subjectOf(values)
  await sql.query(table.expireProposal, { kind, subject, now: act.at })
  const expiresAt = after(act.at, waitsMs)
  const row = {
    kind,
    subject,
    act: values,
    state: print(state),
    reason: act.reason,
    proposedBy: by,
    credentialId: act.by.credential?.id,
    proposedAt: act.at,
    expiresAt,
  }
  const [made] = await sql.query(table.insertProposal, row)
  if (!made) {
    const waiting = await findWaiting(sql, kind, subject, act.at)
    return { kind: 'proposed', id: waiting!.id, isNew: false }
  }
  await recordAct(sql, act, 'proposal.made', subject, { proposalId: made.id, kind })
  await sql.query(table.tellDeciders, {
    ...memberLimits(act.at),
    key: String(made.id),
    facts: { kind, proposalId: made.id, expiresAt: expiresAt.toISOString() },
    about: by,
    roles: rolesWith(permissionOfKind(kind)),
  })
  return { kind: 'proposed', id: made.id, isNew: true }
}

function isReasoned(act: Act): act is ReasonedAct {
  return act.reason !== undefined
}

/** The state as it is compared: whatever differs in it, differs here. */
function print(state: object): string {
  return JSON.stringify(state)
}

/** People alone decide, and propose themselves or by a credential. */
function personOf({ by }: Act): string {
  const person = findPerson(by)
  if (person === undefined) throw new Error(`${by.name} is nobody who proposes or decides.`)
  return person
}

async function findWaiting(
  sql: Sql,
  kind: WiredKind,
  subject: string,
  now: Date,
): Promise<Proposal | undefined> {
  const [found] = await sql.query(table.selectWaiting, { kind, subject, now })
  return found
}

export async function getProposal(sql: Sql, id: number): Promise<Proposal> {
  const [found] = await sql.query(table.selectProposal, { id })
  if (!found) throw new NotFound('There is no such proposal.')
  return found
}

/** Of these kinds: those that wait, what waits longest first. */
export function listOpenProposals(
  sql: Sql,
  kinds: readonly WiredKind[],
  now: Date,
  most: number,
): Promise<Proposal[]> {
  return sql.query(table.selectOpenProposals, { now, kinds, most })
}

export function listPastProposals(
  sql: Sql,
  kinds: readonly WiredKind[],
  now: Date,
  most: number,
): Promise<Proposal[]> {
  return sql.query(table.selectPastProposals, { now, kinds, most })
}

/** Of these kinds, newest first. */
export function pageProposals(
  sql: Sql,
  kinds: readonly WiredKind[],
  page: { readonly isOpen: boolean | undefined; readonly before: number; readonly most: number },
  now: Date,
): Promise<Proposal[]> {
  return sql.query(table.selectProposalPage, { kinds, now, ...page })
}

/** What is not to be looked at is not there, here either. */
export function kindsSeenBy(may: (permission: Permission) => boolean): WiredKind[] {
  return (Object.keys(proposableActs) as WiredKind[]).filter((kind) => may(proposableActs[kind].sees))
}

interface ProposalView {
  /** The state it was proposed on, for the decider. */
  readonly shows: ProposedState['shows']
  /**
   * How that is now, where anything that it depends on has changed; null where there is nothing to be done
   * any more.
   */
  readonly changed: ProposedState['shows'] | null | undefined
}

export function readShown(db: Sql, proposal: Proposal): Promise<ProposalView> {
  const { state } = proposal
  const { shows } = JSON.parse(state) as ProposedState
  return db.transaction(async (sql) => {
    const now = await openWanted(proposal).readState(sql)
    if (!now) return { shows, changed: null }
    return { shows, changed: print(now) === state ? undefined : now.shows }
  })
}

/** How it stands now, for readers: no process writes down that the time is over. */
export function outcomeOf({ outcome, expiresAt }: Pick<Proposal, 'outcome' | 'expiresAt'>, now: Date) {
  return outcome ?? (expiresAt <= now ? 'expired' : null)
}

/**
 * As another person decides, who signed in minutes ago. Answers how it ended: `outdated` when the state is
 * another than it was made on, or its proposer may not do it any more. One that had ended before stays as it
 * was.
 */
export async function decideProposal(
  db: Sql,
  id: number,
  verdict: 'approve' | 'decline',
  { session, act }: { readonly session: Session; readonly act: Act },
): Promise<ProposalOutcome> {
  return db.transaction(async (sql) => {
    // First of all, as by transactions that give and take roles: what was found out about people stays so
    // until the end.
    await sql.query(lockActiveOperators)
    const { proposal, ended } = await holdStill(sql, id, act.at)
    if (ended) return ended
    await refuseDecider(sql, proposal, session, act)
    if (verdict === 'decline') return settle(sql, proposal, 'declined', act)
    const isFit = (await isStillProposed(sql, proposal, act.at)) && (await applyIn(sql, proposal, act))
    return settle(sql, proposal, isFit ? 'applied' : 'outdated', act)
  })
}

interface LockedProposal {
  readonly proposal: Proposal
  readonly ended: ProposalOutcome | null
}

async function holdStill(sql: Sql, id: number, now: Date): Promise<LockedProposal> {
  await sql.query(table.lockProposal, { id })
  const proposal = await getProposal(sql, id)
  return { proposal, ended: outcomeOf(proposal, now) }
}

async function refuseDecider(sql: Sql, proposal: Proposal, session: Session, act: Act): Promise<void> {
  const decider = personOf(act)
  if (act.by.credential) throw new Forbidden('A credential decides nothing.')
  if (decider !== session.user.id) throw new Error('The session is of somebody else.')
  const refusal = await findRefusal(sql, proposal, decider, await listRolesOfActor(sql, act.by), act.at)
  if (refusal) throw new Forbidden(refusal)
  if (!isFresh(session, act.at) || !(await hasProvenFactor(sql, session, act.at)))
    throw new Forbidden('Confirm first that it is you.')
}

/** Two people who both may do it: a proposer who lost that since, by lock or by role, proposes nothing. */
async function isStillProposed(sql: Sql, proposal: Proposal, now: Date): Promise<boolean> {
  if (await isOwnOf(sql, proposal, proposal.proposedBy, now)) return false
  const { credentialId, proposedBy } = proposal
  const roles =
    credentialId === null
      ? await listRolesOf(sql, proposedBy)
      : await findStandingRole(sql, credentialId, now)
  if (!permitAll(roles, await permissionsFor(sql, proposal))) return false
  const state = await openWanted(proposal).readState(sql)
  return state !== undefined && print(state) === proposal.state
}

function applyIn(sql: Sql, proposal: Proposal, act: Act): Promise<boolean> {
  return openWanted(proposal).apply(sql, { ...act, reason: proposal.reason })
}

const actions = {
  applied: 'proposal.approved',
  declined: 'proposal.declined',
  outdated: 'proposal.outdated',
  withdrawn: 'proposal.withdrawn',
} as const

async function settle(
  sql: Sql,
  { id, kind, subject, proposedBy }: Proposal,
  outcome: keyof typeof actions,
  act: Act,
): Promise<ProposalOutcome> {
  const [settled] = await sql.query(table.settleProposal, {
    id,
    outcome,
    decidedBy: personOf(act),
    decidedAt: act.at,
    decisionReason: act.reason,
  })
  if (!settled) throw new Error(`Proposal ${id} was settled by somebody else while it was held.`)
  await recordAct(sql, act, actions[outcome], subject, {
    proposalId: id,
    kind,
    proposedBy: `user:${proposedBy}`,
  })
  return outcome
}

/** By its proposer; a credential, what it proposed itself. */
export async function withdrawProposal(db: Sql, id: number, act: Act): Promise<ProposalOutcome> {
  return db.transaction(async (sql) => {
    const { proposal, ended } = await holdStill(sql, id, act.at)
    if (ended) return ended
    const { credential } = act.by
    if (proposal.proposedBy !== personOf(act) || (credential && proposal.credentialId !== credential.id))
      throw new Forbidden('Only whoever proposed it can withdraw it.')
    return settle(sql, proposal, 'withdrawn', act)
  })
}

/**
 * Who may see a page or send a form: every row of the table names one of these. A gate hands on what it
 * proved, and nothing of a row runs without it. A visitor who is not let through has been answered by the
 * gate: led to sign in, to confirm that it is them, or told no. At the end, the same is asked again of
 * visitors who watch a page that changes, or take a long file.
 */
import type { Act } from '../../audit/audit.ts'
import { alwaysInDoubt, type StandingCheck } from '../../http/standing.ts'
import { isMemberOf, ownPartnerWords } from '../../partners/own-partner.ts'
import { listPartnersOf, type PartnerMembership } from '../../partners/partner.ts'
import { mayAct } from '../../partners/partner-status.ts'
import { Forbidden, NotFound } from '../../problem.ts'
import { type FactorLack, findFactorLack, hasProvenFactor } from '../../users/second-factor.ts'
import { isFresh, type Session } from '../../users/session.ts'
import { listRolesIn } from '../../users/staff-role.ts'
import { type MemberRole, reaches } from '../../vocabulary/member-role.ts'
import { type Permission, permits, type StaffRole } from '../../vocabulary/permission.ts'
import type { Branch } from '../../webhooks/events/branch.ts'
import { readCookie } from '../frame/cookies.ts'
import { readReason } from '../frame/form.ts'
import { checkFormToken } from '../frame/form-token.ts'
import { findKeptForm, keepForm } from '../frame/kept-form.ts'
import type { Watcher } from '../frame/live.ts'
import { refuseTestHolder } from '../frame/not-for-test-holders.ts'
import { PageForms } from '../frame/page-forms.ts'
import { sendFactorNeeded, sendPermissionNeeded } from '../frame/permission-needed.ts'
import { sendRoleNeeded } from '../frame/role-needed.ts'
import { paramsOf, type Visit } from '../frame/visit.ts'
import { currentSession, signedInAs, type UserSession } from '../frame/visitor.ts'

type Audience = 'anyone' | 'visitor' | 'signed in' | 'member' | 'approved member' | 'operator'

/** Given minutes ago, a factor by users who have one; a reason with the form itself. */
type Proof = 'password' | 'factor' | 'reason'

/** Beside the visit a page or a form is handed `Values`. Undefined: the gate has answered. */
export interface Gate<Values extends readonly unknown[]> {
  readonly who: Audience
  readonly proofs: readonly Proof[]
  /** What a member must at least be. */
  readonly least?: MemberRole | undefined
  /** What an operator must be allowed to do. */
  readonly permission?: Permission | undefined
  /** Whether the test holders of the sandbox may, too. */
  readonly testHolders?: true
  show(visit: Visit, path: string): Promise<Values | undefined>
  /**
   * A user who has to sign in first returns to the page that holds the form, and finds there what they typed.
   */
  take(visit: Visit, heldBy: string): Promise<Values | undefined>
}

/** Nothing is proven: who is there, and by which secret a form is theirs, is for the page to find out. */
export const anyone: Gate<[]> = { who: 'anyone', proofs: [], show: async () => [], take: async () => [] }

/** The same, of a form that this browser was shown before its user is known. */
export const guest: Gate<[]> = {
  ...anyone,
  async take({ context, request }) {
    checkFormToken(request, readCookie(context, request, 'visit'))
    return []
  },
}

/** Undefined after having answered; a visitor who is led away comes back to `here`. */
type Admit<Proven> = (visit: Visit, visitor: UserSession, here: string) => Promise<Proven | undefined>

interface PersonGate<Proven extends UserSession> extends Gate<[Proven]> {
  readonly admit: Admit<Proven>
  /** Through this one first, then through the other. */
  and<Also extends UserSession>(also: PersonGate<Also>): PersonGate<Proven & Also>
}

interface GateRequirement {
  /** Whether test holders are let through: no gate does unless it says so. */
  readonly testHolders?: true
  readonly least?: MemberRole
  readonly permission?: Permission
}

function gate<Proven extends UserSession>(
  audience: Audience,
  proofs: readonly Proof[],
  admit: Admit<Proven>,
  requirement: GateRequirement = {},
): PersonGate<Proven> {
  return {
    who: audience,
    proofs,
    ...requirement,
    admit,
    async show(visit, path) {
      // Pages of the account are returned to without what their address said: it told of something just done.
      const here = audience === 'signed in' ? path : visit.address
      const visitor = await signIn(visit, here, requirement)
      const proven = visitor && (await admit(visit, visitor, here))
      if (!proven) return undefined
      const returned = visit.returned ?? (await findKeptForm(visit, proven.session.user.id))
      return [{ ...proven, forms: new PageForms(proven.forms.csrf, paramsOf(visit.request), returned) }]
    },
    async take(visit, heldBy) {
      const visitor = await signIn(visit, heldBy, requirement)
      if (!visitor) return undefined
      // Before anything is looked up: a form that is not ours learns nothing.
      checkFormToken(visit.request, visitor.session.token.text)
      const proven = await admit(visit, visitor, heldBy)
      return proven && [proven]
    },
    and: (also) =>
      gate(
        audience,
        [...proofs, ...also.proofs],
        async (visit, visitor, here) => {
          const first = await admit(visit, visitor, here)
          if (!first) return undefined
          const second = await also.admit(visit, first, here)
          return second && { ...first, ...second }
        },
        requirement,
      ),
  }
}

async function signIn(
  visit: Visit,
  here: string,
  { testHolders }: GateRequirement,
): Promise<UserSession | undefined> {
  const { context, request } = visit
  const session = await currentSession(context, request)
  if (!session) return leadAway(visit, here, '')
  const visitor = signedInAs(context, request, session)
  return session.user.role === 'test' && !testHolders ? refuseTestHolder(visit, visitor) : visitor
}

/**
 * The one way in which a page asks for a proof once more. A provider that says when a factor was given is
 * asked for one.
 */
function askToConfirm(visit: Visit, here: string, needsFactorOf?: Session): Promise<undefined> {
  return leadAway(visit, here, needsFactorOf?.upstream?.vouches ? '&confirm=factor' : '&confirm=1')
}

/** A form that comes too early or too late waits until its owner is back. */
async function leadAway(
  visit: Visit,
  here: string,
  why: '' | '&confirm=1' | '&confirm=factor',
): Promise<undefined> {
  const { request, reply } = visit
  if (request.method === 'POST') await keepForm(visit, here)
  reply.redirect(`/login?return=${encodeURIComponent(here)}${why}`, 303)
}

/** Any session will do: what only looks, or only takes power away. */
export const signedIn = gate('signed in', [], async (_visit, visitor) => visitor)

/** Test holders of the sandbox as well: what an account holder sees of applications. */
export const anyHolder = gate('signed in', [], async (_visit, visitor) => visitor, { testHolders: true })

/** Whether or not they are signed in: the page has something for each. */
export const visitor: Gate<[UserSession | undefined]> = {
  who: 'visitor',
  proofs: [],
  async show(visit, path) {
    const session = await currentSession(visit.context, visit.request)
    return session ? signedIn.show(visit, path) : [undefined]
  },
  take: (visit, heldBy) => signedIn.take(visit, heldBy),
}

interface FreshUserSession extends UserSession {
  readonly isFresh: true
}

/** The password, minutes ago. */
export const freshlySignedIn = gate<FreshUserSession>(
  'signed in',
  ['password'],
  async (visit, visitor, here) => {
    if (!isFresh(visitor.session, visitor.act.at)) return askToConfirm(visit, here)
    return { ...visitor, isFresh: true }
  },
)

/**
 * The same on the live site; in the sandbox any session will do, because no person's data is sent from there.
 */
export const freshOnLive = gate<UserSession>('signed in', ['password'], async (visit, visitor, here) =>
  visit.context.environment === 'live' ? freshlySignedIn.admit(visit, visitor, here) : visitor,
)

export interface FactorSession extends UserSession {
  readonly isProven: true
}

/** A second factor, minutes ago, from a user who has one; for a form that asks for the password itself. */
export const withFactor = gate<FactorSession>('signed in', ['factor'], async (visit, visitor, here) => {
  if (!(await hasProvenFactor(visit.context.db, visitor.session, visitor.act.at)))
    return askToConfirm(visit, here, visitor.session)
  return { ...visitor, isProven: true }
})

/** The password, and a second factor from a user who has one, both minutes ago. */
export const strongly = freshlySignedIn.and(withFactor)
export type StrongUserSession = FreshUserSession & FactorSession

/** Of a partner in whatever state. */
export interface AnyMember extends UserSession {
  readonly partner: PartnerMembership
  readonly branch: Branch
  /** All that the visitor is a member of, this one among them. */
  readonly partners: readonly PartnerMembership[]
  /** Where the partner's pages begin. */
  readonly home: string
  /** Whether its partner may act on this site. */
  readonly isServed: boolean
  /** Whether rows that name these roles let them through: pages offer nothing else. */
  readonly isDeveloper: boolean
  readonly isOwner: boolean
}

/**
 * Of a partner in whatever state; with whatever role, or at least with this one. What belongs to a partner of
 * others does not exist for the visitor.
 */
export const member = memberGate('viewer')
export const memberDeveloper = memberGate('developer')
export const memberOwner = memberGate('owner')

function memberGate(least: MemberRole) {
  const admit = async (visit: Visit, visitor: UserSession) => {
    const found = await getMember(visit, visitor)
    return reaches(found.partner.role, least) ? found : sendRoleNeeded(visit, found, least)
  }
  return gate<AnyMember>('member', [], admit, { least })
}

async function getMember({ context, request }: Visit, visitor: UserSession): Promise<AnyMember> {
  const partners = await listPartnersOf(context.db, visitor.session.user.id)
  const partner = partners.find((each) => String(each.branchId) === paramsOf(request).branch)
  if (!partner) throw new NotFound()
  const { branchId, status, role } = partner
  const { environment } = context
  return {
    ...visitor,
    partner,
    partners,
    branch: { branchId, environment },
    home: `/partner/${branchId}`,
    isServed: mayAct(status, environment),
    isDeveloper: reaches(role, 'developer'),
    isOwner: reaches(role, 'owner'),
  }
}

/** Of a partner that may act on this site: for them is nearly everything in the portal. */
export interface Member extends AnyMember {
  readonly isServed: true
}

export type FreshMember = Member & FreshUserSession

/**
 * Of a partner that may act on this site. A viewer looks, a developer works on what programs use, an owner on
 * who may do what.
 */
export const viewer = servedGate('viewer')
export const developer = servedGate('developer')
export const owner = servedGate('owner')

function servedGate(least: MemberRole) {
  const admit = async (visit: Visit, visitor: UserSession) => {
    const found = await getMember(visit, visitor)
    if (!isServed(found)) throw notServed(found)
    return reaches(found.partner.role, least) ? found : sendRoleNeeded(visit, found, least)
  }
  return gate<Member>('approved member', [], admit, { least })
}

function notServed({ partner: { status, name, statusReason } }: AnyMember): Forbidden {
  if (status === 'applied') return new Forbidden(`The application of ${name} has not been decided yet.`)
  return new Forbidden(`${name} is ${status}: ${statusReason ?? 'no reason was given'}`)
}

export function isServed(member: AnyMember): member is Member {
  return member.isServed
}

/** One of the brokerage's staff. */
export interface Operator extends UserSession {
  readonly isOperator: true
  readonly roles: readonly StaffRole[]
  /** Whether rows that name this permission let them through: pages offer nothing else. */
  may(permission: Permission): boolean
}

/** An operator who may change something: with every proof that they have. */
export type StrongOperator = Operator & StrongUserSession

/**
 * Staff whose roles allow it, where the brokerage demands it with a second factor; no operator manages a
 * partner of their own. For all other users there is no console.
 */
export function staff(permission: Permission): PersonGate<Operator> {
  const admit = async (visit: Visit, visitor: UserSession, here: string) => {
    const { session } = visitor
    if (session.user.role !== 'operator') throw new NotFound()
    const lack = await findLack(visit, session)
    if (lack === 'proof') return askToConfirm(visit, here, session)
    if (lack === 'factor') return sendFactorNeeded(visit, visitor)
    const roles = await listRolesIn(visit.context.db, session.user.id, session.upstream?.providerId)
    if (!permits(roles, permission)) return sendPermissionNeeded(visit, visitor, roles, permission)
    const isOwn = await isMemberOf(
      visit.context.db,
      paramsOf(visit.request).branch,
      session.user.id,
      visitor.act.at,
    )
    const may = (other: Permission) => permits(roles, other) && !(isOwn && other === 'partners.manage')
    if (!may(permission)) throw new Forbidden(ownPartnerWords)
    return { ...visitor, isOperator: true as const, roles, may }
  }
  return gate<Operator>('operator', [], admit, { permission })
}

/** What an operator lacks: a second factor, or the proof of it in this session. */
const findLack = async ({ context }: Visit, session: Session): Promise<FactorLack | undefined> =>
  context.config.secondFactorForOperators ? findFactorLack(context.db, session) : undefined

interface ReasonedSession extends UserSession {
  readonly act: Act & { readonly reason: string }
}

/** An operator who said why. */
export type ReasonedOperator = StrongOperator & ReasonedSession

/** For acts that take something from another person: the operator says why, and the log keeps it. */
export const withReason = gate<ReasonedSession>(
  'operator',
  ['reason'],
  async ({ request, form }, visitor) => {
    return { ...visitor, act: { ...visitor.act, reason: readReason(form, request.body) } }
  },
)

/**
 * A member who signed out, was removed or got another role, or whose partner may no longer act, sees no more.
 */
export function memberWatcher({ context, request }: Visit, { partner, isServed }: AnyMember): Watcher {
  return {
    place: `portal ${context.environment} ${partner.branchId}`,
    async judge() {
      const session = await currentSession(context, request, false)
      if (!session) return undefined
      // With another role the page offers something else: it is to be loaded again.
      const isStillServed = ({ branchId, role, status }: PartnerMembership) =>
        branchId === partner.branchId &&
        role === partner.role &&
        (!isServed || mayAct(status, context.environment))
      const partners = await listPartnersOf(context.db, session.user.id)
      if (!partners.some((each) => isStillServed(each))) return undefined
      const tags = [`session:${session.id}`, `user:${session.user.id}`, `branch:${partner.branchId}`]
      return { tags, soundUntilMs: alwaysInDoubt }
    },
  }
}

export function operatorWatcher(visit: Visit, operator: Operator): Watcher {
  return { place: `console ${visit.context.environment}`, judge: judgeOperator(visit, operator) }
}

/** An operator who signed out, was disabled or has other roles now, sees no more. */
function judgeOperator(visit: Visit, { roles }: Operator): StandingCheck {
  return async () => {
    const session = await currentSession(visit.context, visit.request, false)
    if (session?.user.role !== 'operator' || (await findLack(visit, session)) !== undefined) return undefined
    const rolesNow = await listRolesIn(visit.context.db, session.user.id, session.upstream?.providerId)
    if (rolesNow.join() !== roles.join()) return undefined
    return { tags: [`session:${session.id}`, `user:${session.user.id}`], soundUntilMs: alwaysInDoubt }
  }
}

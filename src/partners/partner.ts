/**
 * A partner applies, is approved or declined, and may be suspended. Its branch id owns everything it
 * registers.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { type Sql, violates } from '../database/database.ts'
import { Conflict, Forbidden, Invalid, NotFound } from '../problem.ts'
import { findTextProblem } from '../text/name.ts'
import { makeTestHolders } from '../users/test-holder.ts'
import type { User } from '../users/user.ts'
import type { Environment } from '../vocabulary/environment.ts'
import type { MemberRole } from '../vocabulary/member-role.ts'
import {
  type Application,
  checkApplication,
  findPartnerNameProblem,
  isBranchId,
} from './application-details.ts'
import { tellOfDecision } from './message-notices.ts'
import { writeDown } from './partner-message.ts'
import { type DecidedStatus, decidedFrom, type PartnerStatus, partnerStatuses } from './partner-status.ts'
import * as table from './partners.sql.ts'

export interface Partner {
  readonly branchId: number
  readonly name: string
  readonly status: PartnerStatus
  readonly statusReason: string | null
  /** How often it was decided about, or applied again. */
  readonly revision: number
  readonly refreshAccess: boolean
  readonly createdAt: Date
}

export async function applyAsPartner(db: Sql, name: string, act: Act): Promise<Partner> {
  const problem = findPartnerNameProblem(name)
  if (problem) throw new Invalid([{ field: 'name', problem }])
  return db.transaction((sql) => applyIn(sql, name.trim(), act))
}

/** With its test holders: the sandbox opens with the application. */
async function applyIn(sql: Sql, name: string, act: Act): Promise<Partner> {
  const partner = await sql.one(table.insertPartner, { name, createdAt: act.at }).catch((error: unknown) => {
    throw violates(error, 'partners_name_key') ? new Invalid([{ field: 'name', problem: 'is taken' }]) : error
  })
  await makeTestHolders(sql, partner.branchId, act.at)
  await recordAct(sql, act, 'partner.applied', subjectOf(partner), { name })
  return partner
}

/**
 * The applicant becomes the first member, and its owner. Of one user one application waits at a time, also
 * when two race.
 */
export async function applyWithDetails(
  db: Sql,
  applicant: User,
  { name, ...application }: Application & { readonly name: string },
  act: Act,
): Promise<Partner> {
  checkApplication(name, application)
  return db.transaction(async (sql) => {
    await sql.query(table.lockApplicant, { id: applicant.id })
    const [open] = await sql.query(table.selectUndecided, { applicantId: applicant.id })
    if (open) throw new Conflict(remedies[open.status](open.name))
    const partner = await applyIn(sql, name.trim(), act)
    const { website, contact, purpose } = application
    await sql.query(table.insertApplication, {
      branchId: partner.branchId,
      applicantId: applicant.id,
      website,
      contact,
      purpose,
      createdAt: act.at,
    })
    await writeDown(
      sql,
      partner,
      { kind: 'applied', side: 'partner', application: { name: name.trim(), ...application } },
      act,
    )
    await addMemberIn(sql, partner, applicant, act)
    return partner
  })
}

/** An applicant who could apply anew under another name would not need an approval. */
const remedies: Readonly<Record<PartnerStatus, (name: string) => string>> = {
  applied: () => 'You have applied already. Wait for the answer before you apply again.',
  declined: (name) => `The application of ${name} was declined. Open it, change it and apply again there.`,
  suspended: (name) => `${name} is suspended. Write to the brokerage on its page before you apply again.`,
  approved: () => '',
}

export async function findApplication(sql: Sql, { branchId }: Partner): Promise<Application | undefined> {
  const [application] = await sql.query(table.selectApplication, { branchId })
  return application
}

/** Digits are a branch id and nothing else: no name consists of them. */
export async function getPartner(sql: Sql, branchIdOrName: string): Promise<Partner> {
  const [partner] = isBranchId(branchIdOrName)
    ? await sql.query(table.selectPartner, { branchId: branchIdOrName })
    : await sql.query(table.selectPartnerByName, { name: branchIdOrName })
  if (!partner) throw new NotFound(`There is no partner "${branchIdOrName}".`)
  return partner
}

export function listPartners(sql: Sql): Promise<Partner[]> {
  return sql.query(table.selectPartners)
}

export function listPartnersByIds(sql: Sql, branchIds: readonly number[]): Promise<Partner[]> {
  return sql.query(table.selectPartnersByIds, { branchIds })
}

export async function setPartnerStatus(
  db: Sql,
  partner: Partner,
  status: DecidedStatus,
  reason: string | undefined,
  act: Act,
): Promise<void> {
  if (await decide(db, partner, { status, reason }, act)) return
  const { status: current } = await getPartner(db, String(partner.branchId))
  if (current !== status) throw new Conflict(`${partner.name} is ${current}: it cannot be ${status} now.`)
}

interface Decision {
  readonly status: DecidedStatus
  readonly reason?: string | undefined
  /** In which the decision was made; in any other nothing happens. */
  readonly seen?: PartnerVersion
}

/** The state that the deciding operator has in front of them. */
export type PartnerVersion = Pick<Partner, 'status' | 'revision'>

/** As a form carries it. A first application is no more than its state. */
export function printSeen({ status, revision }: PartnerVersion): string {
  return revision === 0 ? status : `${status}.${revision}`
}

export function parseSeen(text: string | undefined): PartnerVersion | undefined {
  const [word, revision = '0'] = (text ?? '').split('.')
  const status = partnerStatuses.find((each) => each === word)
  return status && /^\d{1,9}$/.test(revision) ? { status, revision: Number(revision) } : undefined
}

/** False when another operator has decided meanwhile: no operator undoes what they have not seen. */
export function decide(
  db: Sql,
  partner: Partner,
  { status, reason, seen: version }: Decision,
  act: Act,
): Promise<boolean> {
  const needsReason = status === 'declined'
  const problem = reason === undefined && !needsReason ? undefined : findTextProblem(reason ?? '', 2_000)
  if (problem) throw new Invalid([{ field: 'reason', problem }])
  return db.transaction(async (sql) => {
    const values = {
      branchId: partner.branchId,
      status,
      statusReason: reason,
      updatedAt: act.at,
      from: decidedFrom[status],
      seenStatus: version?.status,
      seenRevision: version?.revision,
    }
    const changed = await sql.query(table.updatePartnerStatus, values)
    if (changed.length === 0) return false
    await sql.query(table.allowFeeds, { branchId: partner.branchId, status })
    await writeDown(sql, partner, { kind: status, side: 'brokerage', text: reason }, act)
    await tellOfDecision(sql, partner, { status, reason }, act.at)
    await recordAct(sql, act, `partner.${status}`, subjectOf(partner), reason === undefined ? {} : { reason })
    return true
  })
}

/** What takes something from a partner; what gives it something may take two people (proposals/). */
export function decideAgainst(
  db: Sql,
  partner: Partner,
  decision: Decision & { readonly status: Exclude<DecidedStatus, 'approved'> },
  act: Act,
): Promise<boolean> {
  return decide(db, partner, decision, act)
}

export function withdrawRefreshAccess(db: Sql, partner: Partner, act: Act): Promise<void> {
  return setRefreshAccess(db, partner, false, act)
}

/** Spec 5.8. Withdrawing it stops refresh tokens at once; granting it shows in the next authorization. */
export async function setRefreshAccess(db: Sql, partner: Partner, allowed: boolean, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    await sql.query(table.updateRefreshAccess, {
      branchId: partner.branchId,
      refreshAccess: allowed,
      updatedAt: act.at,
    })
    await recordAct(
      sql,
      act,
      allowed ? 'partner.refresh_granted' : 'partner.refresh_withdrawn',
      subjectOf(partner),
    )
  })
}

export async function addMember(
  db: Sql,
  partner: Partner,
  user: User,
  act: Act,
  role: MemberRole = 'owner',
): Promise<void> {
  await db.transaction((sql) => addMemberIn(sql, partner, user, act, role))
}

/** False for a user who is a member already: their role is what it was. */
export async function addMemberIn(
  sql: Sql,
  partner: Pick<Partner, 'branchId'>,
  user: User,
  act: Act,
  role: MemberRole = 'owner',
): Promise<boolean> {
  const [added] = await sql.query(table.insertMember, {
    branchId: partner.branchId,
    userId: user.id,
    addedAt: act.at,
    role,
  })
  if (added) await recordAct(sql, act, 'partner.member_added', subjectOf(partner), { userId: user.id, role })
  return added !== undefined
}

export async function removeMember(db: Sql, partner: Partner, user: NamedMember, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    await sql.query(table.lockPartner, { branchId: partner.branchId })
    if (act.by.name !== `user:${user.id}`) await refuseFormerOwner(sql, partner, act)
    const removal = sql.query(table.deleteMember, { branchId: partner.branchId, userId: user.id })
    const [removed] = await removal.catch(refuseLastOwner(partner, user))
    if (!removed) throw new NotFound(`${user.username} is not a member of ${partner.name}.`)
    await recordAct(sql, act, 'partner.member_removed', subjectOf(partner), { userId: user.id })
  })
}

/**
 * Transactions that change members of a partner run one after the other, and are refused in words what a
 * trigger refuses in any case.
 */
export async function setMemberRole(
  db: Sql,
  partner: Partner,
  user: NamedMember,
  role: MemberRole,
  act: Act,
): Promise<void> {
  await db.transaction(async (sql) => {
    await sql.query(table.lockPartner, { branchId: partner.branchId })
    await refuseFormerOwner(sql, partner, act)
    const [member] = await sql.query(table.selectMembership, { branchId: partner.branchId, userId: user.id })
    if (!member) throw new NotFound(`${user.username} is not a member of ${partner.name}.`)
    if (member.role === role) return
    const change = sql.query(table.updateMemberRole, { branchId: partner.branchId, userId: user.id, role })
    await change.catch(refuseLastOwner(partner, user))
    const details = { userId: user.id, from: member.role, role }
    await recordAct(sql, act, 'partner.role_changed', subjectOf(partner), details)
  })
}

/**
 * A member who was an owner when they were let in may have waited for the transaction that demoted them.
 * Users alone: the brokerage's commands are no members.
 */
async function refuseFormerOwner(sql: Sql, { branchId, name }: Partner, { by }: Act): Promise<void> {
  if (!by.name.startsWith('user:')) return
  const [member] = await sql.query(table.selectMembership, { branchId, userId: by.name.slice(5) })
  if (member?.role !== 'owner') throw new Forbidden(`You are no longer an owner of ${name}.`)
}

type NamedMember = Pick<User, 'id' | 'username'>

function refuseLastOwner({ name }: Partner, { username }: NamedMember): (error: unknown) => never {
  return (error) => {
    if (!violates(error, 'partner_members_keep_owner')) throw error
    throw new Conflict(`${username} is the last owner of ${name}. Make another member an owner first.`)
  }
}

export interface ListedMember {
  readonly id: string
  readonly username: string
  readonly name: string
  readonly role: MemberRole
  readonly addedAt: Date
}

export function listMembers(sql: Sql, partner: Partner): Promise<ListedMember[]> {
  return sql.query(table.selectMembers, { branchId: partner.branchId })
}

/** A partner, and what a member may do for it. */
export interface PartnerMembership extends Partner {
  readonly role: MemberRole
}

/** Whatever their state, for the pages of their members. */
export function listPartnersOf(sql: Sql, userId: string): Promise<PartnerMembership[]> {
  return sql.query(table.selectPartnersOfMember, { userId })
}

/**
 * The branch a member acts for on a site, and in which role: that of the one partner they belong to which may
 * act there. One that has only applied leaves an approved one its place.
 */
export async function getBranchOfMember(
  sql: Sql,
  userId: string,
  environment: Environment,
): Promise<Pick<PartnerMembership, 'branchId' | 'role'>> {
  const all = await sql.query(table.selectBranchesOfMember, { userId, environment })
  const approved = all.filter(({ status }) => status === 'approved')
  const [row, ...others] = approved.length > 0 ? approved : all
  if (!row) throw new Forbidden('This user is not a member of an approved partner.')
  if (others.length > 0)
    throw new Forbidden("This user is a member of several partners. Use a client's credentials instead.")
  return row
}

function subjectOf(partner: Pick<Partner, 'branchId'>): string {
  return `branch:${partner.branchId}`
}

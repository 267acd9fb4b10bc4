/** A partner applies, is approved and may be suspended. Its branch id owns everything it registers. */
import { type Act, recordAct } from '../audit/audit.ts'
import { type Database, type Sql, violates } from '../database/database.ts'
import { findNameProblem, findTextProblem } from '../name.ts'
import { unprintable } from '../printable.ts'
import { Conflict, type FieldProblem, Forbidden, Invalid, NotFound } from '../problem.ts'
import type { User } from '../users/user.ts'
import * as table from './partners.sql.ts'

export const partnerStatuses = ['applied', 'approved', 'suspended'] as const
export type PartnerStatus = (typeof partnerStatuses)[number]

export interface Partner {
  readonly branchId: number
  readonly name: string
  readonly status: PartnerStatus
  readonly statusReason: string | null
  readonly refreshAccess: boolean
  readonly createdAt: Date
}

export async function applyAsPartner(db: Database, name: string, act: Act): Promise<Partner> {
  const problem = findPartnerNameProblem(name)
  if (problem) throw new Invalid([{ field: 'name', problem }])
  return db.transaction((sql) => applyIn(sql, name.trim(), act))
}

async function applyIn(sql: Sql, name: string, act: Act): Promise<Partner> {
  const [partner] = await sql.query<Partner>(table.insertPartner, [name, act.at]).catch((error: unknown) => {
    throw violates(error, 'partners_name_key') ? new Invalid([{ field: 'name', problem: 'is taken' }]) : error
  })
  await recordAct(sql, act, 'partner.applied', subjectOf(partner!), { name })
  return partner!
}

function findPartnerNameProblem(name: string): string | undefined {
  if (isBranchId(name.trim())) return 'must not be a number, which would read as a branch id'
  return findNameProblem(name, 200)
}

function isBranchId(text: string): boolean {
  return /^\d+$/.test(text)
}

/** What an applicant says of itself, for whoever decides. */
export interface Application {
  readonly website: string
  readonly contact: string
  readonly purpose: string
}

/** The applicant becomes the first member. Of one user one application waits at a time, also when two race. */
export async function applyWithDetails(
  db: Database,
  applicant: User,
  { name, ...application }: Application & { readonly name: string },
  act: Act,
): Promise<Partner> {
  checkApplication(name, application)
  return db.transaction(async (sql) => {
    await sql.query(table.lockApplicant, [applicant.id])
    if ((await sql.query(table.selectUndecided, [applicant.id])).length > 0)
      throw new Conflict('You have applied already. Wait for the answer before you apply again.')
    const partner = await applyIn(sql, name.trim(), act)
    const { website, contact, purpose } = application
    await sql.query(table.insertApplication, [partner.branchId, applicant.id, website, contact, purpose, act.at])
    await addMemberIn(sql, partner, applicant, act)
    return partner
  })
}

function checkApplication(name: string, { website, contact, purpose }: Application): void {
  const problems = [
    { field: 'name', problem: findPartnerNameProblem(name) },
    {
      field: 'website',
      problem: isWebsite(website) ? undefined : 'must be an address such as https://app.example.com',
    },
    { field: 'contact', problem: isMail(contact) ? undefined : 'must be an e-mail address' },
    { field: 'purpose', problem: findTextProblem(purpose, 2_000) },
  ].filter((each): each is FieldProblem => each.problem !== undefined)
  if (problems.length > 0) throw new Invalid(problems)
}

function isWebsite(text: string): boolean {
  return text.length <= 300 && !unprintable.test(text) && /^https?:\/\/[^\s/]/i.test(text) && URL.canParse(text)
}

function isMail(text: string): boolean {
  return text.length <= 320 && !unprintable.test(text) && /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/.test(text)
}

export async function findApplication(sql: Sql, { branchId }: Partner): Promise<Application | undefined> {
  const [application] = await sql.query<Application>(table.selectApplication, [branchId])
  return application
}

/** Digits are a branch id and nothing else: no name consists of them. */
export async function getPartner(sql: Sql, branchIdOrName: string): Promise<Partner> {
  const key = isBranchId(branchIdOrName) ? table.selectPartner : table.selectPartnerByName
  const [partner] = await sql.query<Partner>(key, [branchIdOrName])
  if (!partner) throw new NotFound(`There is no partner "${branchIdOrName}".`)
  return partner
}

export function listPartners(sql: Sql): Promise<Partner[]> {
  return sql.query<Partner>(table.selectPartners)
}

export async function setPartnerStatus(
  db: Database,
  partner: Partner,
  status: 'approved' | 'suspended',
  reason: string | undefined,
  act: Act,
): Promise<void> {
  await decide(db, partner, { status, reason }, act)
}

export interface Decision {
  readonly status: 'approved' | 'suspended'
  readonly reason?: string | undefined
  /** The state in which the decision was made; in any other nothing happens. */
  readonly seen?: PartnerStatus
}

/** False when somebody else has decided meanwhile: nobody undoes what they have not seen. */
export function decide(db: Database, partner: Partner, { status, reason, seen }: Decision, act: Act): Promise<boolean> {
  const problem = reason === undefined ? undefined : findTextProblem(reason, 2_000)
  if (problem) throw new Invalid([{ field: 'reason', problem }])
  return db.transaction(async (sql) => {
    const changed = await sql.query(table.updatePartnerStatus, [partner.branchId, status, reason, act.at, seen])
    if (changed.length === 0) return false
    await recordAct(sql, act, `partner.${status}`, subjectOf(partner), reason === undefined ? {} : { reason })
    return true
  })
}

/** Spec 5.8. Withdrawing it stops refresh tokens at once; granting it shows in the next authorization. */
export async function setRefreshAccess(db: Database, partner: Partner, allowed: boolean, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    await sql.query(table.updateRefreshAccess, [partner.branchId, allowed, act.at])
    await recordAct(sql, act, allowed ? 'partner.refresh_granted' : 'partner.refresh_withdrawn', subjectOf(partner))
  })
}

export async function addMember(db: Database, partner: Partner, user: User, act: Act): Promise<void> {
  await db.transaction((sql) => addMemberIn(sql, partner, user, act))
}

export async function addMemberIn(sql: Sql, partner: Partner, user: User, act: Act): Promise<void> {
  await sql.query(table.insertMember, [partner.branchId, user.id, act.at])
  await recordAct(sql, act, 'partner.member_added', subjectOf(partner), { userId: user.id })
}

export async function removeMember(db: Database, partner: Partner, user: User, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    const [removed] = await sql.query(table.deleteMember, [partner.branchId, user.id])
    if (!removed) throw new NotFound(`${user.username} is not a member of ${partner.name}.`)
    await recordAct(sql, act, 'partner.member_removed', subjectOf(partner), { userId: user.id })
  })
}

/** As the partner does it: the last one stays, because nobody could let the next one in. */
export async function removeMemberButLast(db: Database, partner: Partner, userId: string, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    await sql.query(table.lockPartner, [partner.branchId])
    const members = await listMembers(sql, partner)
    if (!members.some((member) => member.id === userId)) return
    if (members.length === 1) throw new Conflict('The last member cannot leave. Invite another first.')
    await sql.query(table.deleteMember, [partner.branchId, userId])
    await recordAct(sql, act, 'partner.member_removed', subjectOf(partner), { userId })
  })
}

export interface ListedMember {
  readonly id: string
  readonly username: string
  readonly name: string
  readonly addedAt: Date
}

export function listMembers(sql: Sql, partner: Partner): Promise<ListedMember[]> {
  return sql.query<ListedMember>(table.selectMembers, [partner.branchId])
}

/** Whatever their state, for the pages of their members. */
export function listPartnersOf(sql: Sql, userId: string): Promise<Partner[]> {
  return sql.query<Partner>(table.selectPartnersOfMember, [userId])
}

/** The branch a member acts for: that of the one approved partner they belong to. */
export async function getBranchOfMember(sql: Sql, userId: string): Promise<number> {
  const rows = await sql.query<{ branchId: number }>(table.selectBranchesOfMember, [userId])
  if (rows.length === 0) throw new Forbidden('This user is not a member of an approved partner.')
  if (rows.length > 1)
    throw new Forbidden("This user is a member of several partners. Use a client's credentials instead.")
  return rows[0]!.branchId
}

function subjectOf(partner: Partner): string {
  return `branch:${partner.branchId}`
}

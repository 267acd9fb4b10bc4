/**
 * A person whom an owner invites by mail becomes a member by accepting: no user is made one unasked, because
 * a member of two partners can no longer call for either with a personal token. The message goes out whether
 * or not the address has a user, so that no answer tells which; the link in it is the proof (decision 0024).
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { after, day, hour, second } from '../clock.ts'
import type { Token } from '../crypto/token.ts'
import type { Vault } from '../crypto/vault.ts'
import { type Sql, violates } from '../database/database.ts'
import { issueLink } from '../notices/invitation-link.ts'
import { countMail, memberLimits, tellAddress } from '../notices/notice.ts'
import { Conflict, Invalid, NotFound, TooManyRequests } from '../problem.ts'
import { parseEmail } from '../users/email-address.ts'
import { markPassword } from '../users/known-device.ts'
import { hashNewPassword, type Passwords } from '../users/password.ts'
import { openSignedIn, type SignInOrigin } from '../users/signed-in.ts'
import { createMember, type User } from '../users/user.ts'
import type { MemberRole } from '../vocabulary/member-role.ts'
import * as table from './invitations.sql.ts'
import { addMemberIn, listMembers, type Partner } from './partner.ts'
import { lockPartner } from './partners.sql.ts'

export const invitationLifeMs = 7 * day
/** So long an invitation that ended stays in the list, to be sent again. */
const keptMs = 30 * day

const membersAtMost = 50
const mailADay = { toAddress: 5, byPartner: 20 }

export interface Invitation {
  readonly id: number
  readonly branchId: number
  readonly partnerName: string
  readonly email: string
  readonly role: MemberRole
  /** The name of the member who sent it; null where the brokerage did. */
  readonly invitedBy: string | null
  readonly sentAt: Date
  readonly expiresAt: Date
}

export interface ListedInvitation extends Invitation {
  /** Whether its link still counts. */
  readonly isOpen: boolean
}

interface InvitationDependencies {
  readonly db: Sql
  readonly vault: Vault
}

interface Invitee {
  readonly email: string
  readonly role: MemberRole
}

export async function inviteMember(
  { db, vault }: InvitationDependencies,
  partner: Partner,
  { email: typed, role }: Invitee,
  act: Act,
): Promise<void> {
  const email = parseEmail(typed)
  await db.transaction(async (sql) => {
    await sql.query(lockPartner, { branchId: partner.branchId })
    await refuseTooManyMembers(sql, partner, act.at)
    const { token, ...mail } = await prepareMail(sql, vault, partner, { email, role }, act)
    const values = {
      branchId: partner.branchId,
      email,
      role,
      tokenHash: token.hash,
      invitedBy: inviterOf(act),
      invitedAt: act.at,
      expiresAt: mail.expiresAt,
    }
    await sql.query(table.insertInvitation, values).catch((error: unknown) => {
      if (!violates(error, 'invitations_of_address')) throw error
      throw new Invalid([
        { field: 'email', problem: 'is invited already. Send that invitation again instead' },
      ])
    })
    await mail.send()
    await recordAct(sql, act, 'partner.member_invited', subjectOf(partner), { to: hint(email), role })
  })
}

/** With a new link: the one of before no longer counts. */
export async function resendInvitation(
  { db, vault }: InvitationDependencies,
  partner: Partner,
  id: number,
  act: Act,
): Promise<void> {
  await db.transaction(async (sql) => {
    await sql.query(lockPartner, { branchId: partner.branchId })
    const invitation = (await listInvitations(sql, partner, act.at)).find((each) => each.id === id)
    if (!invitation) throw new NotFound('This invitation is no longer there.')
    if (!invitation.isOpen) await refuseTooManyMembers(sql, partner, act.at)
    const { token, ...mail } = await prepareMail(sql, vault, partner, invitation, act)
    const values = {
      branchId: partner.branchId,
      id,
      tokenHash: token.hash,
      invitedBy: inviterOf(act),
      sentAt: act.at,
      expiresAt: mail.expiresAt,
    }
    await sql.query(table.renewInvitation, values)
    await mail.send()
    const details = { to: hint(invitation.email), role: invitation.role }
    await recordAct(sql, act, 'partner.invitation_resent', subjectOf(partner), details)
  })
}

export async function withdrawInvitation(db: Sql, partner: Partner, id: number, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    const [ended] = await sql.query(table.deleteInvitation, { branchId: partner.branchId, id })
    if (!ended) return
    const details = { to: hint(ended.email), role: ended.role }
    await recordAct(sql, act, 'partner.invitation_withdrawn', subjectOf(partner), details)
  })
}

export function listInvitations(sql: Sql, { branchId }: Partner, now: Date): Promise<ListedInvitation[]> {
  return sql.query(table.selectOfBranch, { branchId, now })
}

/** Undefined alike for one that was used, withdrawn or has ended, and for one that never was. */
export async function findInvitation(sql: Sql, token: Token, now: Date): Promise<Invitation | undefined> {
  const [invitation] = await sql.query(table.selectByToken, { tokenHash: token.hash, now })
  return invitation
}

/**
 * A user who is a member already uses nothing up: the invitation is for another person, and changes no role.
 */
export function acceptInvitation(db: Sql, token: Token, user: User, act: Act): Promise<Invitation> {
  return db.transaction((sql) => acceptIn(sql, token, user, act))
}

async function acceptIn(sql: Sql, token: Token, user: User, act: Act): Promise<Invitation> {
  const invitation = await consume(sql, token, act.at)
  const { id, branchId, partnerName, role } = invitation
  if (!(await addMemberIn(sql, { branchId }, user, act, role)))
    throw new Conflict(`You are a member of ${partnerName} already.`)
  await sql.query(table.tellOwnersOfMember, {
    ...memberLimits(act.at),
    branchId,
    invitationId: String(id),
    userId: user.id,
    role,
  })
  return invitation
}

interface NewColleague {
  readonly name: string
  readonly username: string
  readonly password: string
}

/** What the invited person is offered as their username: it ends as those of all who joined this partner. */
export function memberNameOf({ email, branchId }: Invitation): string {
  const local = email.slice(0, email.indexOf('@')).toLowerCase()
  return `${local.replaceAll(/[^a-z0-9._+-]/g, '').slice(0, 60)}#${branchId}`
}

/**
 * By somebody without an account: it is made, becomes a member and uses the invitation up in one transaction,
 * and whoever made it is signed in. The link proves the address. Throws `NotFound` when the invitation is gone.
 */
export async function joinByInvitation(
  { db, passwords }: { readonly db: Sql; readonly passwords: Passwords },
  token: Token,
  colleague: NewColleague,
  from: SignInOrigin,
  act: Act,
) {
  const invitation = await findInvitation(db, token, act.at)
  if (!invitation) throw new NotFound('This invitation is no longer there.')
  const { branchId, email } = invitation
  if (!new RegExp(`^[a-z0-9._+-]{1,60}#${branchId}$`).test(colleague.username))
    throw new Invalid([
      { field: 'username', problem: `must be letters, digits or any of . _ + -, then #${branchId}` },
    ])
  const { password, ...named } = colleague
  const passwordHash = await hashNewPassword(passwords, password)
  return db.transaction(async (sql) => {
    const user = await createMember(sql, { ...named, email, passwordHash }, act)
    await acceptIn(sql, token, user, { ...act, by: { ...act.by, name: `user:${user.id}` } })
    const proven = {
      ...{ user, passwordMark: markPassword(passwordHash), known: crypto.randomUUID(), upstream: undefined },
      ...{ proofs: { passwordAt: act.at, factorAt: undefined }, details: {} },
    }
    return { user, ...(await openSignedIn(sql, proven, from, act)) }
  })
}

export async function declineInvitation(db: Sql, token: Token, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    const { email, role, branchId } = await consume(sql, token, act.at)
    await recordAct(sql, act, 'partner.invitation_declined', subjectOf({ branchId }), {
      to: hint(email),
      role,
    })
  })
}

async function consume(sql: Sql, token: Token, now: Date): Promise<Invitation> {
  const [invitation] = await sql.query(table.consumeInvitation, { tokenHash: token.hash, now })
  if (!invitation) throw new NotFound('This invitation is no longer there.')
  return invitation
}

export function removeOldInvitations(sql: Sql, now: Date, most: number): Promise<object[]> {
  return sql.query(table.deleteOldInvitations, { before: after(now, -keptMs), most })
}

async function refuseTooManyMembers(sql: Sql, partner: Partner, now: Date): Promise<void> {
  const refusal = await findInvitationRefusal(sql, partner, now)
  if (refusal !== undefined) throw new Conflict(refusal)
}

/** Why no invitation can be sent just now: a page that offers it asks first. */
export async function findInvitationRefusal(
  sql: Sql,
  partner: Partner,
  now: Date,
): Promise<string | undefined> {
  if (partner.status !== 'approved') return `${partner.name} is ${partner.status}: it cannot invite now.`
  const open = (await listInvitations(sql, partner, now)).filter(({ isOpen }) => isOpen)
  const members = await listMembers(sql, partner)
  const isFull = members.length + open.length >= membersAtMost
  return isFull ? `A partner has at most ${membersAtMost} members and invitations.` : undefined
}

/** No person is buried in mail that a partner has sent, nor is the gateway's name used up by one. */
async function prepareMail(
  sql: Sql,
  vault: Vault,
  partner: Partner,
  { email, role }: Invitee,
  { by, at }: Act,
) {
  const { toAddress, byPartner } = await countMail(sql, email, partner.branchId, after(at, -day))
  const refusal =
    toAddress >= mailADay.toAddress
      ? 'No more invitations go to this address today.'
      : byPartner >= mailADay.byPartner && `${mailADay.byPartner} invitations were sent within a day.`
  if (refusal) throw new TooManyRequests(`${refusal} Try again tomorrow.`, hour / second)
  const { seed, token } = issueLink(vault)
  const expiresAt = after(at, invitationLifeMs)
  const [inviter] = (await listMembers(sql, partner)).filter(({ id }) => by.name === `user:${id}`)
  const facts = {
    ...{ partner: partner.name, branchId: partner.branchId, role, invitedBy: inviter?.name ?? null },
    ...{ expiresAt: expiresAt.toISOString(), seed, tokenHash: token.hash.toString('hex') },
  }
  return { token, expiresAt, send: () => tellAddress(sql, email, { key: seed, facts }, at) }
}

function inviterOf({ by }: Act): string | null {
  return by.name.startsWith('user:') ? by.name.slice('user:'.length) : null
}

/**
 * The log is kept for ever: enough of an address for a reader who knows it. `ada@example.com` →
 * `a…@example.com`
 */
function hint(email: string): string {
  return `${email[0]}…${email.slice(email.indexOf('@'))}`
}

function subjectOf({ branchId }: Pick<Partner, 'branchId'>): string {
  return `branch:${branchId}`
}

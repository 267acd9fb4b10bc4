/**
 * Which user a provider means. A user is known by issuer and subject; the first time, by the one claim that
 * was configured, which must equal a customer's external id. Never by an e-mail address or a name: those
 * change hands, and their next owner would get the account.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { sha256 } from '../crypto/hash.ts'
import type { Sql } from '../database/database.ts'
import { Conflict, NotFound } from '../problem.ts'
import type { SessionUpstream } from '../users/session.ts'
import { dropProvidedRoles } from '../users/staff-role.ts'
import type { User, UserWithPassword } from '../users/user.ts'
import * as table from './identities.sql.ts'
import { selectEnded } from './logout.sql.ts'
import type { Provider } from './provider.ts'

interface LinkedRow extends UserWithPassword {
  readonly source: string | null
  readonly externalId: string | null
  readonly isOfKind: boolean
}

/** What the provider says of them, after every check. */
interface SubjectClaims {
  readonly subject: string
  /** Of the configured claim. */
  readonly claimed: string | undefined
  /** Creates the user, where none is linked and the provider says that the subject is of the staff. */
  readonly join: (() => Promise<User>) | undefined
}

type Recognition =
  | { readonly kind: 'known'; readonly user: UserWithPassword }
  | { readonly kind: 'unknown'; readonly why: string }

/** Another sign-in linked the subject between the look and the link: a new look finds the user. */
export class LinkedMeanwhile extends Error {}

/** Links a first-time subject. Throws `LinkedMeanwhile` on a race, before a user is created. */
export async function recogniseVouched(
  sql: Sql,
  provider: Provider,
  claims: SubjectClaims,
  act: Act,
): Promise<Recognition> {
  const { kind, issuer, linkSource } = provider
  const { subject, claimed } = claims
  const [held] = await sql.query(table.holdProvider, { id: provider.id })
  if (!held) return unknown('the provider was removed')
  const [linked] = await sql.query(table.selectLinked, { kind, issuer, subject })
  if (linked) return judgeLinked(linked, provider, claimed)
  if (claims.join) {
    const user = await claims.join()
    await link(sql, provider, subject, user, act)
    return { kind: 'known', user: { ...user, passwordHash: null } }
  }
  if (provider.linkClaim === null) return unknown('nobody is linked to this subject')
  if (claimed === undefined) return unknown(`the claim ${provider.linkClaim} is missing`)
  const [found] = await sql.query(table.selectByExternalId, { kind, source: linkSource, externalId: claimed })
  if (!found) return unknown(`no customer has the external id ${claimed}`)
  if (!found.isOfKind) return unknown('the provider is for others')
  const other = await findOtherSubject(sql, provider, subject, found)
  if (other !== undefined)
    return unknown(`${found.username} is linked to another subject there: ${other}. Unlink that one first`)
  await link(sql, provider, subject, found, act)
  return known(found)
}

async function findOtherSubject(sql: Sql, { issuer }: Provider, subject: string, { id }: Pick<User, 'id'>) {
  const [other] = await sql.query(table.selectOtherSubject, { userId: id, issuer, subject })
  return other?.subject
}

async function link(sql: Sql, { id, label }: Provider, subject: string, user: Pick<User, 'id'>, act: Act) {
  const [made] = await sql.query(table.insertIdentity, {
    providerId: id,
    subject,
    userId: user.id,
    linkedAt: act.at,
  })
  if (!made) throw new LinkedMeanwhile(`The subject ${subject} of ${label} was linked meanwhile.`)
  await recordAct(sql, act, 'identity.linked', `user:${user.id}`, { provider: label, subject })
}

/** A claim that names another customer now contradicts the link: which user is meant cannot be known. */
function judgeLinked(
  linked: LinkedRow,
  { linkClaim, linkSource }: Provider,
  claimed: string | undefined,
): Recognition {
  if (!linked.isOfKind) return unknown('the provider is for others')
  const contradicts =
    linkClaim !== null &&
    claimed !== undefined &&
    linked.source === linkSource &&
    linked.externalId !== claimed
  return contradicts
    ? unknown(`the claim ${linkClaim} names another customer than before: ${claimed}`)
    : known(linked)
}

function known({ source: _source, externalId: _id, isOfKind: _kind, ...user }: LinkedRow): Recognition {
  return { kind: 'known', user }
}

const unknown = (why: string): Recognition => ({ kind: 'unknown', why })

/**
 * Unlinking the user, removing the provider and a sign-out at the provider end a half-finished sign-in as
 * well.
 */
export async function isStillVouched(
  sql: Sql,
  user: User,
  { providerId, subject, sid }: SessionUpstream,
  since: Date,
): Promise<boolean> {
  const [linked] = await sql.query(table.holdLinked, { providerId, subject, userId: user.id })
  if (!linked) return false
  const [ended] = await sql.query(selectEnded, {
    providerId,
    since,
    subjectHash: sha256(subject),
    sidHash: sid === undefined ? null : sha256(sid),
  })
  return !ended
}

/** Unlink that one first. */
export class LinkedToOther extends Conflict {
  readonly subject: string
  constructor(subject: string, description: string) {
    super(description)
    this.subject = subject
  }
}

/** Throws `LinkedToOther`. */
export async function linkByHand(
  db: Sql,
  provider: Provider,
  subject: string,
  user: User,
  act: Act,
): Promise<void> {
  await db.transaction(async (sql) => {
    const other = await findOtherSubject(sql, provider, subject, user)
    if (other !== undefined)
      throw new LinkedToOther(
        other,
        `${user.username} is linked to another subject of ${provider.label}: ${other}. Unlink that one first.`,
      )
    const [linked] = await sql.query(table.selectLinked, {
      kind: provider.kind,
      issuer: provider.issuer,
      subject,
    })
    // As it was before the provider was removed and added again.
    if (linked?.id === user.id && linked.isOfKind) return
    const [made] = await sql.query(table.insertIdentity, {
      providerId: provider.id,
      subject,
      userId: user.id,
      linkedAt: act.at,
    })
    if (!made)
      throw new Conflict(
        `The subject is linked already, or ${user.username} is ${user.role === 'operator' ? 'staff' : 'a holder'} and the provider is not for them.`,
      )
    await recordAct(sql, act, 'identity.linked', `user:${user.id}`, { provider: provider.label, subject })
  })
}

/** Ends what was opened by it, and takes the roles that the provider gave. */
export async function unlinkByHand(db: Sql, provider: Provider, subject: string, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    const [gone] = await sql.query(table.deleteIdentity, { issuer: provider.issuer, subject })
    if (!gone) throw new NotFound(`Nobody is linked to the subject "${subject}" of ${provider.label}.`)
    await sql.query(table.deleteSessionsOfSubject, { providerId: provider.id, subject })
    await dropProvidedRoles(sql, provider, act, gone.userId)
    await recordAct(sql, act, 'identity.unlinked', `user:${gone.userId}`, {
      provider: provider.label,
      subject,
    })
  })
}

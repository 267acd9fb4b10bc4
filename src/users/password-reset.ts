/**
 * A new password for a user who forgot theirs, by a link that goes to the address that we have. It counts
 * once and for an hour, ends every session, and replaces no second factor: a person who reads a user's mail
 * gets no further than one who knows the password.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { after, day, hour, minute } from '../clock.ts'
import type { Token } from '../crypto/token.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import { issueLink } from '../notices/invitation-link.ts'
import { countTold, lockNoticesOf, tellUser } from '../notices/notice.ts'
import { Conflict } from '../problem.ts'
import { recordGuardedAct } from './guarded-act.ts'
import { hashNewPassword, type Passwords } from './password.ts'
import * as table from './password-resets.sql.ts'
import { deleteSessionsOf } from './sessions.sql.ts'
import { explainProvided, findUserByUsername, type User } from './user.ts'
import { updatePassword } from './users.sql.ts'

const lifetimeMs = hour
/**
 * A user who asks again sooner has a message already; after so many in a day, a link that is still good is
 * not sent again.
 */
const againAfterMs = 5 * minute
const sentAgainADay = 5
/** More than can be asked for: what operators send stays bounded. */
const sentADay = 100
/** So long the owner, who was told at the address of before, has time to object. */
const newAddressMs = day

interface ResetDependencies {
  readonly db: Sql
  readonly vault: Vault
  /** Whether a password is a way in for holders. */
  readonly holdersUsePasswords: boolean
}

/**
 * Only for an account that has a password, and an address that was not just changed. The client is answered
 * the same, whatever becomes of it.
 */
export async function askForReset(deps: ResetDependencies, username: string, act: Act): Promise<void> {
  const found = await findUserByUsername(deps.db, username.toLowerCase())
  if (!found?.passwordHash) return
  const { passwordHash: _, ...user } = found
  await sendReset(deps, user, act, async (sql) => {
    if (user.role === 'operator' && (await isProvided(sql, user))) return undefined
    if (await findNewAddressEnd(sql, user, act.at)) return undefined
    return chooseLink(sql, deps.vault, user, act.at)
  })
}

/**
 * Strangers may ask as well, and use nothing up: whenever its owner asks, a link that is good for half an
 * hour is on its way, or was sent. One that is good for so long is sent again; a new one would end it under
 * the hands of its owner.
 */
async function chooseLink(sql: Sql, vault: Vault, user: User, now: Date): Promise<ResetLink | undefined> {
  const [good] = await sql.query(table.selectGood, { userId: user.id, until: after(now, lifetimeMs / 2) })
  if (!good) return makeLink(vault, now)
  const { count, lastAt } = await countTold(sql, user.id, 'password-reset', after(now, -day))
  const wasJustSent = lastAt !== null && lastAt > after(now, -againAfterMs)
  return wasJustSent || count >= sentAgainADay ? undefined : good
}

/**
 * As an operator does it, also for a user who has none yet. False when they have no address, or a password is
 * no way for them. Not past the provider of a customer, and not to an address that was just changed,
 * whichever person changed it: one person alone would have the account.
 */
export async function sendResetTo(deps: ResetDependencies, user: User, act: Act): Promise<boolean> {
  return sendReset(deps, user, act, async (sql) => {
    if (await isProvided(sql, user))
      throw new Conflict(
        'No link was sent: they get no password here, and sign in at your identity provider.',
      )
    const from = await findNewAddressEnd(sql, user, act.at)
    if (!from) return makeLink(deps.vault, act.at)
    throw new Conflict(
      `The e-mail address was changed less than 24 hours ago. A reset is possible from ${from.toISOString()}.`,
    )
  })
}

async function isProvided(sql: Sql, { id }: User): Promise<boolean> {
  return (await sql.query(table.selectProvided, { id })).length > 0
}

/** Until when no reset goes to the address that was changed; undefined when one may. */
async function findNewAddressEnd(sql: Sql, { id }: User, now: Date): Promise<Date | undefined> {
  const [found] = await sql.query(table.selectAddressChanged, { id })
  const from = found?.changedAt && after(found.changedAt, newAddressMs)
  return from && from > now ? from : undefined
}

interface ResetLink {
  readonly seed: string
  readonly tokenHash: Buffer
  readonly expiresAt: Date
}

function makeLink(vault: Vault, now: Date): ResetLink {
  const { seed, token } = issueLink(vault, 'reset')
  return { seed, tokenHash: token.hash, expiresAt: after(now, lifetimeMs) }
}

/** Waits for transactions that change the address, or ask for a reset too. */
async function sendReset(
  { db, holdersUsePasswords }: ResetDependencies,
  user: User,
  act: Act,
  choose: (sql: Sql) => Promise<ResetLink | undefined>,
): Promise<boolean> {
  if (user.role !== 'operator' && !holdersUsePasswords) return false
  return db.transaction(async (sql) => {
    await lockNoticesOf(sql, user.id)
    const link = await choose(sql)
    if (!link) return false
    const { seed, tokenHash, expiresAt } = link
    const [made] = await sql.query(table.upsertReset, {
      ...link,
      userId: user.id,
      madeAt: act.at,
      changedUntil: after(act.at, -newAddressMs),
    })
    if (!made) return false
    const facts = { seed, tokenHash: tokenHash.toString('hex'), expiresAt: expiresAt.toISOString() }
    const key = `${seed}:${act.at.getTime()}`
    const isTold = await tellUser(
      sql,
      user.id,
      { kind: 'password-reset', key, facts, mostADay: sentADay },
      act.at,
    )
    if (isTold) await recordAct(sql, act, 'user.reset_sent', `user:${user.id}`)
    return isTold
  })
}

/** Whose password it would be; undefined when the link has ended. */
export async function findReset(
  sql: Sql,
  { hash }: Token,
  now: Date,
): Promise<{ username: string } | undefined> {
  const [found] = await sql.query(table.selectReset, { tokenHash: hash, now })
  return found
}

/** False when the link has ended. */
export async function takeReset(
  { db, holdersUsePasswords }: ResetDependencies,
  passwords: Passwords,
  { hash }: Token,
  password: string,
  { by, at }: Act,
): Promise<boolean> {
  const hashed = await hashNewPassword(passwords, password)
  return db.transaction(async (sql) => {
    const [taken] = await sql.query(table.takeReset, { tokenHash: hash, now: at, holdersUsePasswords })
    if (!taken) return false
    const { userId } = taken
    await sql
      .query(updatePassword, { id: userId, passwordHash: hashed, updatedAt: at })
      .catch(explainProvided)
    await sql.query(deleteSessionsOf, { userId })
    await recordGuardedAct(
      sql,
      { by: { ...by, name: `user:${userId}` }, at },
      'user.password_changed',
      userId,
      {},
    )
    return true
  })
}

export function removeOldResets(sql: Sql, now: Date, most: number): Promise<object[]> {
  return sql.query(table.deleteOldResets, { now, most })
}

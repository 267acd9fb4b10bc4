import { type Act, personOf, recordAct } from '../audit/audit.ts'
import { randomLetters } from '../crypto/random.ts'
import { type Sql, violates } from '../database/database.ts'
import { Conflict, Invalid, NotFound } from '../problem.ts'
import { findNameProblem } from '../text/name.ts'
import { permits } from '../vocabulary/permission.ts'
import type { UserRole } from '../vocabulary/user-role.ts'
import { parseEmail } from './email-address.ts'
import { recordGuardedAct } from './guarded-act.ts'
import { hashNewPassword, type Passwords } from './password.ts'
import { deleteSessionsOf } from './sessions.sql.ts'
import {
  findNeededOver,
  giveByHand,
  listRolesOfActor,
  refuseNoAdministrator,
  type StaffRole,
} from './staff-role.ts'
import * as table from './users.sql.ts'

export interface User {
  readonly id: string
  readonly username: string
  readonly name: string
  readonly role: UserRole
  /** The branch, of a test holder; no other user has one. */
  readonly testOf: number | null
  readonly status: 'active' | 'disabled'
  /**
   * What keeps the user out: an operator, the source, or the source by removing them. Null while they are
   * active.
   */
  readonly lockedBy: 'operator' | 'source' | 'removal' | null
  readonly createdAt: Date
}

/** The password is null for a user who signs in elsewhere. */
export type UserWithPassword = User & { readonly passwordHash: string | null }

interface NewUser {
  readonly username: string
  readonly name: string
  /** Undefined for a user who signs in at a provider. */
  readonly password: string | undefined
  readonly role: User['role']
  /** Where notices go. */
  readonly email?: string | undefined
  /** Of an operator, by hand. */
  readonly staffRoles?: readonly StaffRole[]
}

export async function createUser(db: Sql, passwords: Passwords, user: NewUser, act: Act): Promise<User> {
  judge(user)
  const hash = user.password === undefined ? undefined : await hashNewPassword(passwords, user.password)
  return db.transaction((sql) => insertNew(sql, user, hash, act))
}

/** A user who signs in at a provider; in the caller's transaction. */
export async function createWithoutPassword(sql: Sql, user: Person, act: Act): Promise<User> {
  judge(user)
  return insertNew(sql, user, undefined, act)
}

/**
 * Somebody who joins a partner, and is no customer; in the caller's transaction. Their username was judged: it is
 * of a kind that nobody else has.
 */
export async function createMember(
  sql: Sql,
  { passwordHash, ...person }: Omit<Person, 'role'> & { readonly passwordHash: string },
  act: Act,
): Promise<User> {
  const nameProblem = findNameProblem(person.name, 200)
  if (nameProblem) throw new Invalid([{ field: 'name', problem: nameProblem }])
  return insertNew(sql, { ...person, role: 'member' }, passwordHash, act)
}

/** By a provider, while they have a name that was made up. A user who was named stays so. */
export async function nameInstead(
  sql: Sql,
  { id, name: before }: User,
  told: { readonly name: string; readonly provider: string },
  act: Act,
): Promise<void> {
  const name = told.name.trim()
  const [named] = await sql.query(table.replaceName, { id, before, name, updatedAt: act.at })
  if (named) await recordAct(sql, act, 'user.named', `user:${id}`, { ...told, name })
}

type Person = Omit<NewUser, 'password'>

function judge({ username, name }: Person): void {
  const usernameProblem = findUsernameProblem(username.toLowerCase())
  if (usernameProblem) throw new Invalid([{ field: 'username', problem: usernameProblem }])
  const nameProblem = findNameProblem(name, 200)
  if (nameProblem) throw new Invalid([{ field: 'name', problem: nameProblem }])
}

async function insertNew(sql: Sql, user: Person, hash: string | undefined, act: Act): Promise<User> {
  const { role, name, staffRoles = [] } = user
  const username = user.username.toLowerCase()
  const email = user.email === undefined ? undefined : parseEmail(user.email)
  const id = `id-${randomLetters(12).toLowerCase()}`
  const created = await sql
    .one(table.insertUser, {
      id,
      username,
      name: name.trim(),
      passwordHash: hash,
      role,
      createdAt: act.at,
      email,
    })
    .catch((error: unknown) => {
      throw violates(error, 'users_username_key')
        ? new Invalid([{ field: 'username', problem: 'is taken' }])
        : error
    })
  await recordAct(sql, act, 'user.created', `user:${id}`, { username, role })
  if (role === 'operator') await giveByHand(sql, id, staffRoles, act)
  return created
}

/** No username has this shape: whatever a word is, it can name one user at most. */
const idShape = /^id-[a-z0-9]{12}$/

/** Of a username in lower case. */
function findUsernameProblem(username: string): string | undefined {
  if (!/^[a-z0-9._@+-]{1,100}$/.test(username)) return 'must be 1 to 100 letters, digits or any of . _ @ + -'
  return idShape.test(username) ? 'must not look like the id of a user' : undefined
}

/** For sign-in and for what an operator types; everything else knows people by their id. */
export async function findUserByUsername(sql: Sql, username: string): Promise<UserWithPassword | undefined> {
  const [user] = await sql.query(table.selectUserByUsername, { username })
  return user
}

/** As an operator names a user on the command line: an id, or a username. */
export async function getUserNamed(sql: Sql, idOrUsername: string): Promise<User> {
  const word = idOrUsername.toLowerCase()
  if (idShape.test(word)) return getUserById(sql, word)
  const found = await findUserByUsername(sql, word)
  if (!found) throw new NotFound(`There is no user "${idOrUsername}".`)
  const { passwordHash: _hash, ...user } = found
  return user
}

export async function getUserById(sql: Sql, id: string): Promise<User> {
  const [user] = await sql.query(table.selectUserById, { id })
  if (!user) throw new NotFound(`There is no user with the id "${id}".`)
  return user
}

/** Ends every session: a person who knew the old password is out. */
export async function setPassword(
  db: Sql,
  passwords: Passwords,
  user: User,
  password: string,
  act: Act,
): Promise<void> {
  const hash = await hashNewPassword(passwords, password)
  await db.transaction(async (sql) => {
    await sql
      .query(table.updatePassword, { id: user.id, passwordHash: hash, updatedAt: act.at })
      .catch(explainProvided)
    await sql.query(deleteSessionsOf, { userId: user.id })
    await recordGuardedAct(sql, act, 'user.password_changed', user.id, {})
  })
}

/** Staff whom a provider knows: the operator who gave them a password could come in as them. */
export function explainProvided(error: unknown): never {
  if (!violates(error, 'users_staff_password')) throw error
  throw new Conflict(
    'They are staff who sign in at your identity provider, and get no password here. Unlink them first.',
  )
}

/** A user whom the brokerage's own system has locked, it alone lets in again. */
function explainLock(error: unknown): never {
  if (!violates(error, 'users_source_status')) throw error
  throw new Conflict('This customer is locked by the brokerage’s own system. It has to unlock them.')
}

export async function setUserStatus(db: Sql, user: User, status: User['status'], act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    await sql.query(table.updateUserStatus, { id: user.id, status, updatedAt: act.at }).catch(explainLock)
    await finishStatus(sql, user, status, act)
  })
}

async function finishStatus(sql: Sql, user: User, status: User['status'], act: Act): Promise<void> {
  if (status === 'disabled') await sql.query(deleteSessionsOf, { userId: user.id })
  await recordAct(sql, act, status === 'disabled' ? 'user.disabled' : 'user.enabled', `user:${user.id}`)
}

/**
 * As one operator does it to another user: an active administrator is always left. A second click changes
 * nothing.
 */
export async function setStatusOfOther(db: Sql, user: User, status: User['status'], act: Act): Promise<void> {
  const acting = personOf(act.by)
  if (user.id === acting && status === 'disabled')
    throw new Conflict('You cannot lock out yourself. Ask another operator.')
  await db.transaction(async (sql) => {
    const operators = await sql.query(table.lockActiveOperators)
    const needed = ['users.manage' as const, ...(await findNeededOver(sql, user))]
    const roles = await listRolesOfActor(sql, act.by)
    if (!operators.some(({ id }) => id === acting) || !needed.every((each) => permits(roles, each)))
      throw new Conflict('You have been locked out yourself meanwhile, or may not do this any more.')
    const changed = await sql
      .query(table.changeUserStatus, { id: user.id, status, updatedAt: act.at })
      .catch(explainLock)
    if (changed.length === 0) return
    if (user.role === 'operator') await refuseNoAdministrator(sql)
    await finishStatus(sql, user, status, act)
  })
}

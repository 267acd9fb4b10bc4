/** Accounts, and who holds them. */
import { type Act, recordAct } from '../audit/audit.ts'
import { type Sql, violates } from '../database/database.ts'
import { Invalid, NotFound } from '../problem.ts'
import { findNameProblem } from '../text/name.ts'
import type { Environment } from '../vocabulary/environment.ts'
import type { Scope } from '../vocabulary/scope.ts'
import * as table from './accounts.sql.ts'
import { type HoldingRole, scopesOfRole } from './holding.ts'
import type { User } from './user.ts'

export interface Account {
  readonly accountNumber: string
  readonly environment: Environment
  readonly classification: string
  readonly dateCreated: Date
  readonly dayTrader: boolean
  readonly optionLevel: number
  readonly status: 'active' | 'closed'
  readonly type: 'cash' | 'margin'
  readonly lastUpdateDate: Date
}

/** An open account, with how a user holds it. */
export interface HeldAccount extends Account {
  readonly role: HoldingRole
  /** What they may let applications do in it. */
  readonly scopes: readonly Scope[]
  /** The others whose it is, by name. */
  readonly owners: readonly string[]
  readonly heldSince: Date
}

export function isOwn({ role }: HeldAccount): boolean {
  return role === 'owner' || role === 'joint'
}

type NewAccount = Pick<
  Account,
  'accountNumber' | 'environment' | 'classification' | 'dayTrader' | 'optionLevel' | 'type'
>

export async function addAccount(db: Sql, user: User, account: NewAccount, act: Act): Promise<void> {
  const { accountNumber, environment, classification } = account
  const problem = findNameProblem(classification, 200)
  if (problem) throw new Invalid([{ field: 'classification', problem }])
  const values = { ...account, userId: user.id, scopes: scopesOfRole.owner, now: act.at }
  await db.transaction(async (sql) => {
    await sql.query(table.insertAccount, values).catch((error: unknown) => {
      throw violates(error, 'accounts_pkey')
        ? new Invalid([{ field: 'account_number', problem: 'is taken' }])
        : error
    })
    await recordAct(sql, act, 'user.account_added', `user:${user.id}`, {
      account_number: accountNumber,
      environment,
    })
  })
}

export function listAccounts(sql: Sql, userId: string, environment: Environment): Promise<Account[]> {
  return sql.query(table.selectAccounts, { userId, environment })
}

/** Those that can be shared. */
export function listOpenAccounts(sql: Sql, userId: string, environment: Environment): Promise<HeldAccount[]> {
  return sql.query(table.selectOpenAccounts, { userId, environment })
}

export interface Holding extends Account {
  readonly role: HoldingRole
  readonly scopes: readonly Scope[]
  readonly holdingStatus: 'active' | 'suspended'
  readonly source: string | null
  readonly externalId: string | null
}

/** On both sites, suspended ones too. */
export function listHoldings(sql: Sql, userId: string): Promise<Holding[]> {
  return sql.query(table.selectHoldings, { userId })
}

interface NewHolding {
  readonly accountNumber: string
  readonly role: HoldingRole
  readonly scopes: readonly Scope[]
}

/** Made, or changed to this. */
export async function setHolding(db: Sql, user: User, holding: NewHolding, act: Act): Promise<void> {
  const { accountNumber, role, scopes } = holding
  await db.transaction(async (sql) => {
    await sql
      .query(table.upsertHolding, { userId: user.id, accountNumber, role, scopes, now: act.at })
      .catch((error: unknown) => {
        throw violates(error, 'holdings_account_number_fkey')
          ? new NotFound(`There is no account ${accountNumber}.`)
          : error
      })
    const details = { account_number: accountNumber, role, scopes: scopes.join(' ') }
    await recordAct(sql, act, 'user.holding_set', `user:${user.id}`, details)
  })
}

/** What applications could do in it, they can no longer. */
export async function removeHolding(db: Sql, user: User, accountNumber: string, act: Act): Promise<void> {
  await db.transaction(async (sql) => {
    const gone = await sql.query(table.endHolding, {
      userId: user.id,
      accountNumber,
      now: act.at,
      reason: 'account no longer held',
      actor: act.by.name,
    })
    if (gone.length === 0) throw new NotFound(`${user.username} does not hold account ${accountNumber}.`)
    await recordAct(sql, act, 'user.holding_removed', `user:${user.id}`, { account_number: accountNumber })
  })
}

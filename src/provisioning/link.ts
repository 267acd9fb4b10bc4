/**
 * Customers and accounts that were made by hand join the brokerage's own system: they get the name that it
 * has for them, and what it says from then on finds them. While it has said nothing of them yet, another name
 * can be given; afterwards the name stays.
 */
import { type Act, recordAct } from '../audit/audit.ts'
import { type Sql, violates } from '../database/database.ts'
import { Conflict, Invalid, NotFound } from '../problem.ts'
import type { User } from '../users/user.ts'
import * as table from './links.sql.ts'
import type { Origin } from './provisioning.ts'
import { externalIdPattern, externalIdRule } from './record.ts'
import { getSource } from './source.ts'

export interface ExternalName extends Origin {
  readonly externalId: string
}

export async function linkUser(db: Sql, user: User, name: ExternalName, act: Act): Promise<void> {
  if (user.role !== 'holder') throw new Conflict(`${user.username} is staff: they have no external id.`)
  await db.transaction(async (sql) => {
    await checkName(sql, name)
    const [linked] = await sql
      .query(table.linkUser, {
        id: user.id,
        source: name.source,
        externalId: name.externalId,
        updatedAt: act.at,
      })
      .catch(tellTaken('users_of_source', 'customer', name))
    if (!linked)
      throw new Conflict(`A source knows ${user.username} already, and by another name they would be lost.`)
    await recordLink(sql, `user:${user.id}`, name, act)
  })
}

export async function linkAccount(
  db: Sql,
  accountNumber: string,
  name: ExternalName,
  act: Act,
): Promise<void> {
  await db.transaction(async (sql) => {
    await checkName(sql, name)
    const [account] = await sql.query(table.lockAccount, { accountNumber })
    if (!account || account.environment !== name.environment)
      throw new NotFound(`There is no ${name.environment} account ${accountNumber}.`)
    if (account.isKnown)
      throw new Conflict(
        `A source knows account ${accountNumber} already, and by another name it would be lost.`,
      )
    await sql
      .query(table.linkAccount, { accountNumber, source: name.source, externalId: name.externalId })
      .catch(tellTaken('accounts_of_source', 'account', name))
    await recordLink(sql, `account:${accountNumber}`, name, act)
  })
}

async function checkName(sql: Sql, name: ExternalName): Promise<void> {
  if (!new RegExp(externalIdPattern).test(name.externalId))
    throw new Invalid([{ field: 'external-id', problem: externalIdRule }])
  await getSource(sql, name)
}

function tellTaken(constraint: string, kind: string, { source, externalId }: ExternalName) {
  return (error: unknown): never => {
    if (!violates(error, constraint)) throw error
    throw new Conflict(`Another ${kind} has the external id ${externalId} of ${source}.`)
  }
}

function recordLink(
  sql: Sql,
  subject: string,
  { source, externalId }: ExternalName,
  act: Act,
): Promise<void> {
  return recordAct(sql, act, 'provisioning.linked', subject, { source, externalId })
}

/**
 * The test holders of a partner: people whom it signs in as in the sandbox, to see what account holders see.
 * They are made with the partner and stay as they are (`refuse_for_test_holder` in the migrations). Their
 * password follows from a key of the vault: nothing stores it, and members read it in the portal. Usernames
 * are drawn at random, so that nobody else can keep them waiting by guessing at them.
 */
import { equalBytes, hmacSha256 } from '../crypto/hash.ts'
import { lettersOf, randomLetters } from '../crypto/random.ts'
import type { Vault } from '../crypto/vault.ts'
import type { Sql } from '../database/database.ts'
import type { HoldingRole } from './holding.ts'
import { insertTestHolders, selectTestHolders } from './test-holders.sql.ts'
import type { User } from './user.ts'

const people = ['Ada', 'Ben', 'Cleo'] as const

interface TestAccount {
  readonly classification: string
  readonly type: 'cash' | 'margin'
  readonly optionLevel: number
  readonly holders: { readonly [Name in (typeof people)[number]]?: HoldingRole }
}

/** One alone, one together, one on which another person advises, and a plain one. */
const accounts: readonly TestAccount[] = [
  { classification: 'individual', type: 'margin', optionLevel: 3, holders: { Ada: 'owner' } },
  { classification: 'joint', type: 'margin', optionLevel: 2, holders: { Ada: 'joint', Ben: 'joint' } },
  { classification: 'roth_ira', type: 'cash', optionLevel: 1, holders: { Ben: 'owner', Cleo: 'adviser' } },
  { classification: 'individual', type: 'cash', optionLevel: 1, holders: { Cleo: 'owner' } },
]

/** With the partner, in its transaction. */
export async function makeTestHolders(sql: Sql, branchId: number, now: Date): Promise<void> {
  const tag = randomLetters(10).toLowerCase()
  const numbers = accounts.map(() => `TEST${randomLetters(10).toUpperCase()}`)
  const usernameOf = (name: string) => `${name.toLowerCase()}#${tag}`
  const holdings = accounts.flatMap(({ holders }, place) =>
    Object.entries(holders).map(([name, role]) => ({ name, role, number: numbers[place]! })),
  )
  await sql.query(insertTestHolders, {
    branchId,
    now,
    usernames: people.map(usernameOf),
    names: people.map((name) => `${name} Test`),
    numbers,
    classifications: accounts.map(({ classification }) => classification),
    types: accounts.map(({ type }) => type),
    optionLevels: accounts.map(({ optionLevel }) => optionLevel),
    holders: holdings.map(({ name }) => usernameOf(name)),
    held: holdings.map(({ number }) => number),
    roles: holdings.map(({ role }) => role),
  })
}

export interface TestHolder {
  readonly id: string
  readonly username: string
  readonly name: string
  readonly status: User['status']
  readonly password: string
}

export async function listTestHolders(sql: Sql, vault: Vault, branchId: number): Promise<TestHolder[]> {
  const rows = await sql.query(selectTestHolders, { branchId })
  return rows.map((row) => ({ ...row, password: passwordsOf(vault, row)[0] }))
}

/** While keys are being rotated, those of before count as well. */
export function isTestPassword(vault: Vault, holder: Pick<User, 'username'>, password: string): boolean {
  const given = Buffer.from(password)
  return passwordsOf(vault, holder).some((each) => equalBytes(Buffer.from(each), given))
}

const passwordLetters = 20

function passwordsOf(vault: Vault, { username }: Pick<User, 'username'>): [string, ...string[]] {
  const passwordBy = (key: Buffer) => lettersOf(hmacSha256(key, username)).slice(0, passwordLetters)
  const [sealing, ...others] = vault.derive('test-holder')
  return [passwordBy(sealing), ...others.map(passwordBy)]
}

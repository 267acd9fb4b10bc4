/** Spec 4.5: the profile of the user behind a token, with the accounts that the token may see. */
import Type from 'typebox'
import type { Changes } from '../database/changes.ts'
import type { Database } from '../database/database.ts'
import { openMemory } from '../database/memory.ts'
import type { Environment } from '../environment.ts'
import { type Account, getUser, listAccounts } from './user.ts'

const PrintedAccount = Type.Object({
  account_number: Type.String(),
  classification: Type.String(),
  date_created: Type.String(),
  day_trader: Type.Boolean(),
  option_level: Type.Integer(),
  status: Type.String(),
  type: Type.String(),
  last_update_date: Type.String(),
})

export const Profile = Type.Object({
  profile: Type.Object({
    id: Type.String(),
    name: Type.String(),
    account: Type.Unsafe<unknown>({
      description: 'The account itself when there is one, otherwise a list; `accounts` is always a list',
      anyOf: [PrintedAccount, Type.Array(PrintedAccount)],
    }),
    accounts: Type.Array(PrintedAccount),
  }),
})
export type Profile = Type.Static<typeof Profile>

export interface Profiles {
  find(userId: string, visible: readonly string[] | undefined): Promise<Profile>
}

interface Person {
  readonly id: string
  readonly name: string
  readonly accounts: readonly Type.Static<typeof PrintedAccount>[]
}

export function openProfiles(db: Database, changes: Changes, environment: Environment): Profiles {
  const memory = openMemory<Person>(changes)
  async function read(userId: string) {
    const { id, name } = await getUser(db, userId)
    const accounts = (await listAccounts(db, userId, environment)).map(printAccount)
    return { value: { id, name, accounts }, tags: [`user:${userId}`] }
  }
  return {
    async find(userId, visible) {
      const person = memory.recall(userId) ?? (await memory.learn(userId, () => read(userId)))!
      const accounts = visible
        ? person.accounts.filter((each) => visible.includes(each.account_number))
        : [...person.accounts]
      const account = accounts.length === 1 ? accounts[0] : accounts
      return { profile: { id: person.id, name: person.name, account, accounts } }
    },
  }
}

function printAccount(account: Account): Type.Static<typeof PrintedAccount> {
  const { account_number, classification, day_trader, option_level, status, type } = account
  return {
    account_number,
    classification,
    date_created: account.date_created.toISOString(),
    day_trader,
    option_level,
    status,
    type,
    last_update_date: account.last_update_date.toISOString(),
  }
}

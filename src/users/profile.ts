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
  /** The profile as JSON text: printed once, remembered until something about the user changes. */
  find(userId: string, visible: readonly string[] | undefined): string | Promise<string>
}

export function openProfiles(db: Database, changes: Changes, environment: Environment): Profiles {
  const memory = openMemory<{ readonly text: string }>(changes)
  async function read(userId: string, visible: readonly string[] | undefined) {
    const { id, name } = await getUser(db, userId)
    const all = await listAccounts(db, userId, environment)
    const accounts = all.filter((each) => visible?.includes(each.account_number) ?? true).map(printAccount)
    const profile: Profile = {
      profile: { id, name, account: accounts.length === 1 ? accounts[0] : accounts, accounts },
    }
    return { value: { text: JSON.stringify(profile) }, tags: [`user:${userId}`] }
  }
  return {
    find(userId, visible) {
      const key = visible ? `${userId} ${visible.join()}` : userId
      const known = memory.recall(key)
      return known ? known.text : memory.learn(key, () => read(userId, visible)).then((learned) => learned!.text)
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

/** Spec 4.5: the profile of the user behind a token, with the accounts that the token may see. */
import Type from 'typebox'
import type { Database } from '../database/database.ts'
import type { Environment } from '../environment.ts'
import { type Account, getUserById, listAccounts } from './user.ts'

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

/** Whoever looks, as remembered elsewhere: forgotten there as soon as anything about the user changes. */
export interface Viewer {
  readonly userId: string
  /** The accounts it may see; absent means all of them. */
  readonly accountNumbers: readonly string[] | undefined
}

export interface Profiles {
  /** The profile as JSON text, printed once a viewer. */
  find(viewer: Viewer): string | Promise<string>
}

export function openProfiles(db: Database, environment: Environment): Profiles {
  const printed = new WeakMap<Viewer, string>()
  async function print(viewer: Viewer): Promise<string> {
    const { id, name } = await getUserById(db, viewer.userId)
    const all = await listAccounts(db, viewer.userId, environment)
    const accounts = all
      .filter((each) => viewer.accountNumbers?.includes(each.account_number) ?? true)
      .map(printAccount)
    const profile: Profile = {
      profile: { id, name, account: accounts.length === 1 ? accounts[0] : accounts, accounts },
    }
    const text = JSON.stringify(profile)
    printed.set(viewer, text)
    return text
  }
  return { find: (viewer) => printed.get(viewer) ?? print(viewer) }
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

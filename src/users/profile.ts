/** Spec 4.5: the profile of the user behind a token, with the accounts that the token may see. */
import type { Static } from 'typebox'
import { BoundedMap } from '../concurrency/bounded-map.ts'
import type { Sql } from '../database/database.ts'
import { Confirmation } from '../vocabulary/confirmation.ts'
import type { Environment } from '../vocabulary/environment.ts'
import { integer, oneOf, Type, text } from '../vocabulary/schema.ts'
import { type Account, listAccounts } from './account.ts'
import { getUserById } from './user.ts'

const PrintedAccount = Type.Object(
  {
    account_number: text('The number of the account.', '6YA10001'),
    classification: text('Whose it is.', 'individual'),
    date_created: text('When it was opened, as ISO 8601.', '2026-01-01T00:00:00.000Z', {
      format: 'date-time',
    }),
    day_trader: Type.Boolean({ description: 'Whether it counts as a pattern day trader.' }),
    option_level: integer('What it may do with options, from 1 to 6.', 2),
    status: oneOf(['active', 'closed'], { description: 'Whether it is open.' }),
    type: oneOf(['cash', 'margin'], { description: 'Whether it may borrow.' }),
    last_update_date: text('When it last changed, as ISO 8601.', '2026-01-01T00:00:00.000Z', {
      format: 'date-time',
    }),
  },
  { title: 'Account', description: 'An account of the user.' },
)

const opened = '2026-01-01T00:00:00.000Z'
/** The only one of its user. */
const accountExample: Static<typeof PrintedAccount> = {
  ...{ account_number: '6YA10001', classification: 'individual', date_created: opened, day_trader: false },
  ...{ option_level: 2, status: 'active', type: 'cash', last_update_date: opened },
}

const PrintedUser = Type.Object(
  {
    id: text('The id of the user.', 'id-4f7k2m9q1x3z'),
    name: text('The name of the user.', 'Ada Holder'),
    // Without a type: of a union, some generators take the first branch for all of it, and fail to read a
    // list.
    account: Type.Unsafe<unknown>({
      description:
        'Any JSON, for clients that know it: an Account when there is one, otherwise a list of them. Read `accounts` instead.',
      examples: [accountExample],
    }),
    accounts: Type.Array(PrintedAccount, { description: 'The accounts, always as a list.' }),
  },
  { title: 'User', description: 'A user with the accounts that the token may see.' },
)

export const Profile = Type.Object(
  {
    profile: PrintedUser,
    cnf: Type.Optional(Confirmation),
  },
  { title: 'Profile', description: 'The user behind the token.' },
)
export type Profile = Static<typeof Profile>

/**
 * The user who looks, as remembered elsewhere: forgotten there as soon as anything about the user changes.
 */
interface Viewer {
  readonly userId: string
  /** A token of the user's own sees all that they hold, whatever it may do there. */
  readonly kind: 'access' | 'personal'
  /** The accounts that an application sees. */
  readonly accountNumbers: readonly string[]
  /** The sender that its token is bound to. */
  readonly confirmation?: Confirmation | undefined
}

export interface Profiles {
  /** The profile as JSON text, printed once a viewer. */
  get(viewer: Viewer): string | Promise<string>
}

/** Of users with an account or two, some ten thousand. */
const keptBytes = 16 * 1024 * 1024

export function openProfiles(db: Sql, environment: Environment, mostBytes = keptBytes): Profiles {
  const printed = new BoundedMap<Viewer, string>(mostBytes)
  async function print(viewer: Viewer): Promise<string> {
    const { id, name } = await getUserById(db, viewer.userId)
    const all = await listAccounts(db, viewer.userId, environment)
    const isSeen = (each: Account) =>
      viewer.kind === 'personal' || viewer.accountNumbers.includes(each.accountNumber)
    const accounts = all.filter(isSeen).map(printAccount)
    const profile: Profile = {
      profile: { id, name, account: accounts.length === 1 ? accounts[0] : accounts, accounts },
      ...(viewer.confirmation && { cnf: viewer.confirmation }),
    }
    const text = JSON.stringify(profile)
    printed.set(viewer, text)
    return text
  }
  return { get: (viewer) => printed.get(viewer) ?? print(viewer) }
}

function printAccount(account: Account): Static<typeof PrintedAccount> {
  return {
    account_number: account.accountNumber,
    classification: account.classification,
    date_created: account.dateCreated.toISOString(),
    day_trader: account.dayTrader,
    option_level: account.optionLevel,
    status: account.status,
    type: account.type,
    last_update_date: account.lastUpdateDate.toISOString(),
  }
}

import { randomLetters } from '../crypto/random.ts'
import type { Sql } from '../database/database.ts'
import { Invalid } from '../problem.ts'
import { addAccount, listHoldings, removeHolding, setHolding } from '../users/account.ts'
import { findMail, setEmail } from '../users/email.ts'
import { holdingRoles, scopesOfRole } from '../users/holding.ts'
import { openPasswords } from '../users/password.ts'
import { resetSecondFactor } from '../users/second-factor.ts'
import { createUser, getUserNamed, setPassword, setUserStatus, type User } from '../users/user.ts'
import { findUsers } from '../users/user-search.ts'
import { parseScopes, scopes } from '../vocabulary/scope.ts'
import { breakGlass } from './break-glass.ts'
import { type Command, type CommandWords, UsageError, type WriteContext } from './command.ts'
import { parseEnvironment } from './environment.ts'
import { secretOption, takeSecret } from './secret-file.ts'
import { parseStaffRole, staffRoleOption } from './staff.ts'

/** Read and printed together: however many there are, no more are in memory. */
const usersAPage = 1_000

const passwordOption = secretOption(
  'password',
  'a file with the password; without one it is made up and shown once',
)

/** Made up when none is given; shown only then. */
function choosePassword(words: CommandWords): { password: string; shown: Record<string, string> } {
  const given = takeSecret(words, 'password')
  const password = given ?? randomLetters(20)
  return { password, shown: given === undefined ? { password } : {} }
}

export const userCommands: readonly Command[] = [
  {
    name: 'user create',
    needs: 'database',
    summary: 'Creates a user: an account holder, or somebody of the staff with --operator.',
    options: [
      { name: 'username', value: 'NAME', required: true, meaning: 'what they sign in with' },
      { name: 'name', value: 'TEXT', required: true, meaning: 'their full name' },
      { name: 'email', value: 'ADDRESS', meaning: 'where notices go; without one none are sent' },
      passwordOption,
      { name: 'operator', meaning: "the brokerage's staff" },
      {
        name: 'role',
        ...staffRoleOption,
        multiple: true,
        meaning: 'of an operator; administrator unless given',
      },
    ],
    async run({ db, act, print }, words) {
      const { password, shown } = choosePassword(words)
      const role = words.has('operator') ? ('operator' as const) : ('holder' as const)
      if (role === 'holder' && words.has('role'))
        throw new UsageError('Only an operator has roles: add --operator.')
      const draft = {
        username: words.get('username'),
        name: words.get('name'),
        password,
        role,
        email: words.find('email'),
        staffRoles: words.has('role') ? words.all('role').map(parseStaffRole) : ['administrator' as const],
      }
      const user = await createUser(db, openPasswords(1), draft, act())
      print.record({ ...printUser(user), ...shown })
    },
  },
  {
    name: 'user list',
    needs: 'reading',
    summary: 'Lists all users, by their usernames.',
    run: async ({ db, print }) => print.pages(pagesOfUsers(db), 'There are no users.'),
  },
  {
    name: 'user show',
    needs: 'reading',
    summary: 'Shows one user with their accounts.',
    positionals: ['user'],
    async run({ db, print }, { positional }) {
      const user = await getUserNamed(db, positional('user'))
      const accounts = await listHoldings(db, user.id)
      const mail = await findMail(db, user.id)
      print.record({
        ...printUser(user),
        email: mail?.email,
        accounts: accounts.map((each) => each.accountNumber),
      })
    },
  },
  {
    name: 'user password',
    needs: 'database',
    summary: 'Sets a new password and ends all sessions of the user.',
    positionals: ['user'],
    options: [passwordOption],
    async run({ db, act, print }, words) {
      const user = await getUserNamed(db, words.positional('user'))
      const { password, shown } = choosePassword(words)
      await setPassword(db, openPasswords(1), user, password, act())
      print.record({ username: user.username, ...shown })
    },
  },
  {
    name: 'user set-email',
    needs: 'database',
    summary: 'Sets where notices to a user go, or removes the address. The address before is told.',
    positionals: ['user'],
    options: [
      { name: 'email', value: 'ADDRESS', meaning: 'the new address' },
      { name: 'none', meaning: 'no address: no notices' },
    ],
    async run({ db, act, print }, words) {
      const user = await getUserNamed(db, words.positional('user'))
      if (words.has('email') === words.has('none'))
        throw new UsageError('Say either --email ADDRESS or --none.')
      const email = await setEmail(db, user, words.find('email'), act())
      print.record({ username: user.username, email: email ?? 'none' })
    },
  },
  {
    name: 'user reset-second-factor',
    needs: 'database',
    summary:
      'Resets two-factor: removes every second factor and recovery code of a user, and ends all sessions. Make sure first who asks.',
    positionals: ['user'],
    async run(context, { positional }) {
      const { db, act, print } = context
      const user = await getUserNamed(db, positional('user'))
      await breakGlass(context, 'user.reset-two-factor', `user:${user.id}`)
      await resetSecondFactor(db, user, act())
      print.record({ username: user.username, second_factor: 'none' })
    },
  },
  statusCommand('disable', 'Locks a user out: sessions end, tokens stop working at once.', 'disabled'),
  statusCommand('enable', 'Lets a disabled user in again.', 'active'),
  {
    name: 'user account',
    needs: 'database',
    summary: 'Adds a brokerage account to a user.',
    positionals: ['user'],
    options: [
      { name: 'number', value: 'NUMBER', required: true, meaning: 'account number, such as 6YA00001' },
      { name: 'environment', value: 'live|sandbox', meaning: 'live unless given' },
      { name: 'classification', value: 'WORD', meaning: 'individual unless given' },
      { name: 'type', value: 'cash|margin', meaning: 'cash unless given' },
      { name: 'option-level', value: '1..6', meaning: '1 unless given' },
      { name: 'day-trader', meaning: 'marks a day trader' },
    ],
    async run({ db, act, print }, words) {
      const user = await getUserNamed(db, words.positional('user'))
      const type = words.find('type') ?? 'cash'
      const level = Number(words.find('option-level') ?? 1)
      if (type !== 'cash' && type !== 'margin')
        throw new Invalid([{ field: 'type', problem: 'must be cash or margin' }])
      if (!Number.isInteger(level) || level < 1 || level > 6)
        throw new Invalid([{ field: 'option-level', problem: 'must be 1 to 6' }])
      const number = words.get('number').toUpperCase()
      if (!/^[A-Z0-9]{4,20}$/.test(number))
        throw new Invalid([{ field: 'number', problem: 'must be 4 to 20 letters and digits' }])
      const account = {
        accountNumber: number,
        environment: parseEnvironment(words.find('environment')),
        classification: words.find('classification') ?? 'individual',
        dayTrader: words.has('day-trader'),
        optionLevel: level,
        type,
      } as const
      await addAccount(db, user, account, act())
      const { environment, classification, dayTrader } = account
      const printed = { environment, classification, day_trader: dayTrader, option_level: level, type }
      print.record({ username: user.username, account_number: number, ...printed })
    },
  },
  {
    name: 'user hold',
    needs: 'database',
    summary:
      'Lets a user hold an account that exists: jointly, as custodian, adviser or viewer. Given again, it replaces what was.',
    positionals: ['user'],
    options: [
      { name: 'number', value: 'NUMBER', required: true, meaning: 'account number, such as 6YA00001' },
      { name: 'role', value: holdingRoles.join('|'), required: true, meaning: 'how they hold it' },
      {
        name: 'scopes',
        value: 'WORDS',
        meaning: 'what they may let applications do in it; unless given, what the role may',
      },
    ],
    async run({ db, act, print }, words) {
      const user = await getUserNamed(db, words.positional('user'))
      const holding = readHolding(words)
      await setHolding(db, user, holding, act())
      const { accountNumber, role, scopes } = holding
      print.record({ username: user.username, account_number: accountNumber, role, scopes })
    },
  },
  {
    name: 'user release',
    needs: 'database',
    summary: 'Ends that a user holds an account. Applications that they let use it can no longer.',
    positionals: ['user'],
    options: [
      { name: 'number', value: 'NUMBER', required: true, meaning: 'account number, such as 6YA00001' },
    ],
    async run({ db, act, print }, words) {
      const user = await getUserNamed(db, words.positional('user'))
      const number = words.get('number').toUpperCase()
      await removeHolding(db, user, number, act())
      print.record({ username: user.username, account_number: number, role: 'none' })
    },
  },
]

async function* pagesOfUsers(db: Sql) {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page: Awaited<ReturnType<typeof findUsers>> = await findUsers(db, { after }, usersAPage)
    yield page.users.map(printUser)
    after = page.after
  }
}

function readHolding(words: CommandWords) {
  const role = holdingRoles.find((each) => each === words.get('role'))
  if (!role) throw new Invalid([{ field: 'role', problem: `must be one of ${holdingRoles.join(', ')}` }])
  const parsed = parseScopes(words.find('scopes') ?? scopesOfRole[role].join(' '))
  if (parsed.kind === 'unknown')
    throw new Invalid([
      { field: 'scopes', problem: `names "${parsed.word}": must be any of ${scopes.join(', ')}` },
    ])
  return {
    accountNumber: words.get('number').toUpperCase(),
    role,
    scopes: parsed.kind === 'none' ? [] : parsed.scopes,
  }
}

function printUser({ createdAt, lockedBy, testOf, ...user }: User): Record<string, unknown> {
  return { ...user, locked_by: lockedBy, test_holder_of: testOf, created_at: createdAt }
}

function statusCommand(verb: string, summary: string, status: 'active' | 'disabled'): Command {
  return {
    name: `user ${verb}`,
    needs: 'database',
    summary,
    positionals: ['user'],
    async run({ db, act, print }: WriteContext, { positional }) {
      const user = await getUserNamed(db, positional('user'))
      await setUserStatus(db, user, status, act())
      print.record({ username: user.username, status })
    },
  }
}

import { after } from '../clock.ts'
import { parseToken } from '../crypto/token.ts'
import { listAuthorizations, revokeAuthorization } from '../oauth/authorization.ts'
import { parseClientScopes } from '../partners/client.ts'
import { Invalid, NotFound } from '../problem.ts'
import {
  changeProvisioning,
  changeReading,
  createService,
  listServices,
  revokeService,
  type Service,
} from '../services/service.ts'
import { findTextProblem } from '../text/name.ts'
import { createApiToken, findApiTokenId, listApiTokens, revokeApiToken } from '../users/api-token.ts'
import { getUserNamed } from '../users/user.ts'
import { scopes } from '../vocabulary/scope.ts'
import { tokenFacts, usualFacts } from '../vocabulary/token-fact.ts'
import { type Command, type CommandWords, type Option, UsageError, type WriteContext } from './command.ts'
import { parseDuration, parseEnvironment } from './environment.ts'
import { nameUsers } from './names.ts'
import { getSecret, secretOption } from './secret-file.ts'

const seesOption: Option = {
  ...{ name: 'sees', value: 'FACT', multiple: true },
  meaning: `what introspection tells it of a token, of ${tokenFacts.join(', ')}; may be repeated`,
}
const audienceOption: Option = {
  ...{ name: 'audience', value: 'URI' },
  meaning: 'what it protects, by the name that clients ask for (RFC 8707): other tokens are inactive for it',
}

export const tokenCommands: readonly Command[] = [
  {
    name: 'token create',
    needs: 'database',
    summary: 'Creates a personal API token (or, with --environment sandbox, a sandbox token). Shown once.',
    options: [
      { name: 'user', value: 'NAME|ID', required: true, meaning: 'whose token' },
      { name: 'name', value: 'TEXT', required: true, meaning: 'what it is for' },
      { name: 'environment', value: 'live|sandbox', meaning: 'live unless given' },
      {
        name: 'scope',
        value: 'SCOPES',
        meaning: 'what it may do, such as "read,market": everything unless given',
      },
      { name: 'ends-after', value: 'DURATION', meaning: 'such as 90d: it does not end unless given' },
    ],
    async run({ db, act, print }, words) {
      const user = await getUserNamed(db, words.get('user'))
      const acting = act()
      const scope = words.find('scope')
      const chosen = scope === undefined ? scopes : parseClientScopes(scope)
      if ('field' in chosen) throw new Invalid([chosen])
      const lifetime = words.find('ends-after')
      const draft = {
        environment: parseEnvironment(words.find('environment')),
        name: words.get('name'),
        scopes: chosen,
        expiresAt:
          lifetime === undefined ? undefined : after(acting.at, parseDuration(lifetime, 'ends-after')),
      }
      const { record, token } = await createApiToken(db, user, draft, acting)
      const { environment, name, expiresAt } = record
      print.record({
        ...{ id: record.id, username: user.username, environment, name, scopes: record.scopes },
        ...{ ends_at: expiresAt, token: token.text },
      })
    },
  },
  {
    name: 'token list',
    needs: 'reading',
    summary: 'Lists the living API tokens of a user.',
    options: [{ name: 'user', value: 'NAME|ID', required: true, meaning: 'whose tokens' }],
    async run({ db, print }, words) {
      const user = await getUserNamed(db, words.get('user'))
      const rows = await listApiTokens(db, user.id)
      print.table(
        rows.map(({ id, environment, name, scopes, hint, createdAt, expiresAt, lastUsedAt }) => ({
          ...{ id, environment, name, scopes, hint },
          created_at: createdAt,
          ends_at: expiresAt,
          last_used_at: lastUsedAt,
        })),
        'The user has no API tokens.',
      )
    },
  },
  {
    name: 'token revoke',
    needs: 'database',
    summary: 'Revokes an API token by its id. Takes effect at once.',
    positionals: ['id'],
    async run(context, { positional }) {
      await revokeToken(context, parseNumber(positional('id')))
    },
  },
  {
    name: 'token revoke-leaked',
    needs: 'database',
    summary: 'Revokes a leaked API token, known by itself. Takes effect at once.',
    options: [secretOption('token', 'a file with the token', { required: true })],
    async run(context, words) {
      await revokeToken(context, await getTokenId(context, getSecret(words, 'token').trim()))
    },
  },
  {
    name: 'authorization list',
    needs: 'reading',
    summary: 'Lists what users have approved, of one user, one client, or all.',
    options: [
      { name: 'user', value: 'NAME|ID', meaning: 'only this user' },
      { name: 'client', value: 'ID', meaning: 'only this client' },
    ],
    async run({ db, print }, words) {
      const key = words.find('user')
      const userId = key === undefined ? undefined : (await getUserNamed(db, key)).id
      const rows = await listAuthorizations(db, { userId, clientId: words.find('client') })
      const names = await nameUsers(
        db,
        rows.map((row) => row.userId),
      )
      print.table(
        rows.map(({ id, userId, clientName, environment, scopes, approvedAt, lastUsedAt, pausedAt }) => ({
          id,
          user_id: userId,
          user_name: names.get(userId) ?? null,
          client_name: clientName,
          environment,
          scopes,
          approved_at: approvedAt,
          last_used_at: lastUsedAt,
          paused_at: pausedAt,
        })),
        'There are no authorizations.',
      )
    },
  },
  {
    name: 'authorization revoke',
    needs: 'database',
    summary: 'Ends an authorization and every token that came of it, at once.',
    positionals: ['id'],
    options: [{ name: 'reason', value: 'TEXT', required: true, meaning: 'why, for the audit log' }],
    async run({ db, act, print }, words) {
      const id = parseNumber(words.positional('id'))
      const problem = findTextProblem(words.get('reason'), 2_000)
      if (problem) throw new Invalid([{ field: 'reason', problem }])
      await revokeAuthorization(db, { id, reason: words.get('reason') }, act())
      print.record({ revoked_authorization: id })
    },
  },
  {
    name: 'service create',
    needs: 'database',
    summary:
      "Registers one of the brokerage's own systems, which may introspect tokens and publish events. Its secret is shown once.",
    options: [
      { name: 'name', value: 'TEXT', required: true, meaning: 'which system' },
      { name: 'environment', value: 'live|sandbox', meaning: 'live unless given' },
      {
        ...{ name: 'provision', value: 'SOURCE', multiple: true },
        meaning:
          'it may also say which customers and accounts this source has, such as core; may be repeated',
      },
      { ...seesOption, meaning: `${seesOption.meaning}; ${usualFacts.join(', ')} unless given` },
      { ...audienceOption, meaning: `${audienceOption.meaning}; it takes every token unless given` },
    ],
    async run({ db, act, print }, words) {
      const environment = parseEnvironment(words.find('environment'))
      const { service, secret } = await createService(db, words.get('name'), environment, act(), {
        mayProvision: words.all('provision'),
        ...readingOf(words),
      })
      print.record({ ...printService(service), secret: secret.text })
    },
  },
  {
    name: 'service update',
    needs: 'database',
    summary:
      'Changes for which sources a service may provision, and what it learns of tokens. Counts from its next request on.',
    positionals: ['id'],
    options: [
      {
        name: 'provision',
        value: 'SOURCE',
        multiple: true,
        meaning: 'a source that it may; may be repeated',
      },
      {
        name: 'no-provision',
        value: 'SOURCE',
        multiple: true,
        meaning: 'one that it may no longer; may be repeated',
      },
      { ...seesOption, meaning: `${seesOption.meaning}; replaces what it saw` },
      { name: 'sees-nothing', meaning: 'it learns nothing but that a token is active, its scopes and user' },
      audienceOption,
      { name: 'no-audience', meaning: 'it takes every token' },
    ],
    async run({ db, act, print }, words) {
      const id = words.positional('id')
      const sources = { added: words.all('provision'), withdrawn: words.all('no-provision') }
      const reading = {
        ...readingOf(words),
        ...(words.has('sees-nothing') && { sees: [] }),
        ...(words.has('no-audience') && { audience: null }),
      }
      const setsSources = sources.added.length + sources.withdrawn.length > 0
      const setsReading = Object.keys(reading).length > 0
      if (!setsSources && !setsReading)
        throw new UsageError('Say what changes: --provision, --no-provision, --sees, --audience.')
      const changed = await db.transaction(async (sql) => {
        const provisions = setsSources ? await changeProvisioning(sql, id, sources, act()) : undefined
        return setsReading ? changeReading(sql, id, reading, act()) : provisions!
      })
      print.record(printService(changed))
    },
  },
  {
    name: 'service list',
    needs: 'reading',
    summary: "Lists the brokerage's own systems.",
    run: async ({ db, print }) =>
      print.table(
        (await listServices(db)).map((service) => ({
          ...printService(service),
          created_at: service.createdAt,
          revoked_at: service.revokedAt,
        })),
        'There are no services.',
      ),
  },
  {
    name: 'service revoke',
    needs: 'database',
    summary: 'Ends the credential of a service at once.',
    positionals: ['id'],
    async run({ db, act, print }, { positional }) {
      await revokeService(db, positional('id'), act())
      print.record({ revoked_service: positional('id') })
    },
  },
]

function printService({ id, name, environment, mayProvision, sees, audience }: Service) {
  return { id, name, environment, may_provision: mayProvision, sees, audience }
}

/** What was said of it; nothing of what was not. */
function readingOf(words: CommandWords) {
  const [sees, audience] = [words.all('sees'), words.find('audience')]
  return { ...(sees.length > 0 && { sees }), ...(audience !== undefined && { audience }) }
}

function parseNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text))
    throw new Invalid([{ field: 'id', problem: `must be a number, not "${text}"` }])
  return Number(text)
}

async function revokeToken({ db, act, print }: WriteContext, id: number): Promise<void> {
  await revokeApiToken(db, id, undefined, act())
  print.record({ revoked_token: id })
}

async function getTokenId({ db }: WriteContext, text: string): Promise<number> {
  const token = parseToken(text)
  if (token?.kind !== 'personal') throw new Invalid([{ field: 'token', problem: 'must be an API token' }])
  const id = await findApiTokenId(db, token)
  if (id === undefined) throw new NotFound('There is no such token.')
  return id
}

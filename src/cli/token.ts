import { parseToken } from '../crypto/token.ts'
import { listAuthorizations, revokeAuthorization } from '../oauth/authorization.ts'
import { Invalid, NotFound } from '../problem.ts'
import { createService, listServices, revokeService } from '../services/service.ts'
import { createApiToken, listApiTokens, revokeApiToken } from '../users/api-token.ts'
import { selectApiTokenByHash } from '../users/api-tokens.sql.ts'
import { getUser } from '../users/user.ts'
import type { Command, Desk } from './command.ts'
import { parseEnvironment } from './environment.ts'

/** The triggers tell every gateway; this process remembers nothing. */
const nobodyHere = { announce: () => {} }

export const tokenCommands: readonly Command[] = [
  {
    name: 'token create',
    summary: 'Creates a personal API token (or, with --environment sandbox, a sandbox token). Shown once.',
    options: [
      { name: 'user', value: 'NAME|ID', required: true, meaning: 'whose token' },
      { name: 'name', value: 'TEXT', required: true, meaning: 'what it is for' },
      { name: 'environment', value: 'live|sandbox', meaning: 'live unless given' },
    ],
    async run({ db, clock, by, print }, words) {
      const user = await getUser(db, words.get('user'))
      const draft = { environment: parseEnvironment(words.find('environment')), name: words.get('name') }
      const { record, token } = await createApiToken(db, user, draft, by, clock.now())
      print.record({ id: record.id, username: user.username, ...draft, token: token.text })
    },
  },
  {
    name: 'token list',
    summary: 'Lists the living API tokens of a user.',
    options: [{ name: 'user', value: 'NAME|ID', required: true, meaning: 'whose tokens' }],
    async run({ db, print }, words) {
      const user = await getUser(db, words.get('user'))
      const rows = await listApiTokens(db, user.id)
      print.table(
        rows.map(({ user_id: _owner, revoked_at: _revoked, ...row }) => row),
        'The user has no API tokens.',
      )
    },
  },
  {
    name: 'token revoke',
    summary: 'Revokes an API token, by its id or (a leaked one) by the token itself. Takes effect at once.',
    positionals: ['id or token'],
    async run(desk, { positionals }) {
      const id = await findTokenId(desk, positionals[0]!)
      await revokeApiToken(desk.db, id, undefined, desk.by, desk.clock.now())
      desk.print.record({ revoked_token: id })
    },
  },
  {
    name: 'authorization list',
    summary: 'Lists what users have approved, of one user, one client, or all.',
    options: [
      { name: 'user', value: 'NAME|ID', meaning: 'only this user' },
      { name: 'client', value: 'ID', meaning: 'only this client' },
    ],
    async run({ db, print }, words) {
      const key = words.find('user')
      const userId = key === undefined ? undefined : (await getUser(db, key)).id
      const rows = await listAuthorizations(db, { userId, clientId: words.find('client') })
      print.table(
        rows.map(({ id, user_id, client_name, environment, scopes, approved_at, last_used_at, paused_at }) => ({
          id,
          user_id,
          client_name,
          environment,
          scopes,
          approved_at,
          last_used_at,
          paused_at,
        })),
        'There are no authorizations.',
      )
    },
  },
  {
    name: 'authorization revoke',
    summary: 'Ends an authorization and every token that came of it, at once.',
    positionals: ['id'],
    options: [{ name: 'reason', value: 'TEXT', required: true, meaning: 'why, for the audit log' }],
    async run({ db, clock, by, print }, words) {
      const [text] = words.positionals
      if (!/^\d{1,15}$/.test(text!)) throw new Invalid([{ field: 'id', problem: `must be a number, not "${text}"` }])
      const id = Number(text)
      await revokeAuthorization(db, nobodyHere, { id, reason: words.get('reason') }, by, clock.now())
      print.record({ revoked_authorization: id })
    },
  },
  {
    name: 'service create',
    summary: "Registers one of the brokerage's own systems, which may introspect tokens. Its secret is shown once.",
    options: [
      { name: 'name', value: 'TEXT', required: true, meaning: 'which system' },
      { name: 'environment', value: 'live|sandbox', meaning: 'live unless given' },
    ],
    async run({ db, clock, by, print }, words) {
      const environment = parseEnvironment(words.find('environment'))
      const { service, secret } = await createService(db, words.get('name'), environment, by, clock.now())
      print.record({ id: service.id, name: service.name, environment, secret: secret.text })
    },
  },
  {
    name: 'service list',
    summary: "Lists the brokerage's own systems.",
    run: async ({ db, print }) =>
      print.table(
        (await listServices(db)).map((service) => ({ ...service })),
        'There are no services.',
      ),
  },
  {
    name: 'service revoke',
    summary: 'Ends the credential of a service at once.',
    positionals: ['id'],
    async run({ db, clock, by, print }, { positionals }) {
      await revokeService(db, positionals[0]!, by, clock.now())
      print.record({ revoked_service: positionals[0] })
    },
  },
]

async function findTokenId({ db }: Desk, text: string): Promise<number> {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  const token = parseToken(text)
  if (token?.kind !== 'personal')
    throw new Invalid([{ field: 'token', problem: 'must be the id of an API token, or the token itself' }])
  const [found] = await db.query<{ id: number }>(selectApiTokenByHash, [token.hash])
  if (!found) throw new NotFound('There is no such token.')
  return found.id
}

import { after } from '../clock.ts'
import type { Sql } from '../database/database.ts'
import { setCertificateSubject } from '../partners/certificate-subject.ts'
import {
  type Client,
  createClient,
  declareClient,
  getClient,
  listClients,
  parseClientScopes,
  scopesOfNewClients,
  setClientStatus,
  setScopesAtMost,
  setScopesRequired,
  updateClient,
} from '../partners/client.ts'
import { addKeys } from '../partners/client-keys.ts'
import { setProfile } from '../partners/client-profile.ts'
import { listSecrets, revokeSecret, rotateSecret } from '../partners/client-secret.ts'
import { getPartner } from '../partners/partner.ts'
import { findProfileRequest } from '../partners/profile-request.ts'
import { answerScopeRequest, findOpenScopeRequest } from '../partners/scope-request.ts'
import { Conflict, Invalid, NotFound } from '../problem.ts'
import { isDevelopment } from '../settings/config.ts'
import { covers, type Scope } from '../vocabulary/scope.ts'
import { breakGlass } from './break-glass.ts'
import { jwksOption, takeJwks } from './client-keys.ts'
import { parseProfile, printProfile, profileCommand, profileOption } from './client-profile.ts'
import type { Command, WriteContext } from './command.ts'
import { parseDuration, parseEnvironment } from './environment.ts'
import { namePartners } from './names.ts'

const acting = ({ config, act }: WriteContext) => ({ ...act(), development: isDevelopment(config) })

const rotationOption = {
  name: 'rotate-refresh-tokens',
  value: 'on|off',
  meaning: 'replace the refresh token at each use (off unless given)',
}

function parseRotation(text: string | undefined): boolean | undefined {
  if (text !== undefined && text !== 'on' && text !== 'off')
    throw new Invalid([{ field: rotationOption.name, problem: 'must be on or off' }])
  return text === undefined ? undefined : text === 'on'
}

export const clientCommands: readonly Command[] = [
  {
    name: 'client create',
    needs: 'database',
    summary: 'Registers an application of a partner. Its secret is shown once; one of FAPI 2.0 has none.',
    options: [
      { name: 'partner', value: 'NAME|ID', required: true, meaning: 'name or branch id of the partner' },
      { name: 'name', value: 'TEXT', required: true, meaning: 'the name account holders will see' },
      { name: 'callback', value: 'URL', required: true, meaning: 'where codes are sent' },
      {
        name: 'scope',
        value: 'SCOPES',
        required: true,
        meaning: 'what it may ask for at most, such as "read,trade"',
      },
      { name: 'environment', value: 'live|sandbox', meaning: 'live unless given' },
      rotationOption,
      jwksOption,
      profileOption,
    ],
    async run(context, words) {
      const keys = takeJwks(words)
      const partner = await getPartner(context.db, words.get('partner'))
      const draft = {
        name: words.get('name'),
        callbackUrl: words.get('callback'),
        scope: words.get('scope'),
        rotateRefreshTokens: parseRotation(words.find(rotationOption.name)) ?? false,
      }
      const environment = parseEnvironment(words.find('environment'))
      const atMost = parseClientScopes(draft.scope)
      if (!('field' in atMost) && !covers(scopesOfNewClients[environment], atMost))
        await breakGlass(context, 'partner.widen-scopes', `branch:${partner.branchId}`)
      const { db, vault, print } = context
      const act = acting(context)
      if (parseProfile(words.find('profile')) === 'fapi2') {
        if ('field' in atMost) throw new Invalid([atMost])
        const client = await db.transaction(async (sql) => {
          const declared = await declareClient(sql, partner, environment, { ...draft, atMost }, act)
          if (keys) await addKeys(sql, declared, keys, act)
          return setProfile(sql, declared, { from: act.at }, act)
        })
        return print.record(fieldsOf(client, act.at))
      }
      const { client, secret } = await db.transaction(async (sql) => {
        const made = await createClient(sql, vault, partner, environment, draft, act)
        if (keys) await addKeys(sql, made.client, keys, act)
        return made
      })
      print.record({ ...fieldsOf(client, act.at), client_secret: secret.text })
      print.say('\nKeep the secret now: it is not shown again.')
    },
  },
  {
    name: 'client list',
    needs: 'reading',
    summary: 'Lists clients, of one partner or of all.',
    options: [{ name: 'partner', value: 'NAME|ID', meaning: 'only this partner' }],
    async run({ db, clock, print }, words) {
      const key = words.find('partner')
      const branchId = key === undefined ? undefined : (await getPartner(db, key)).branchId
      print.table(
        await withPartners(db, await listClients(db, branchId), clock.now()),
        'There are no clients.',
      )
    },
  },
  {
    name: 'client show',
    needs: 'reading',
    summary: 'Shows a client and its live secrets (never the secrets themselves).',
    positionals: ['client'],
    async run({ db, clock, print }, { positional }) {
      const client = await getClient(db, positional('client'))
      const [fields] = await withPartners(db, [client], clock.now())
      print.record({
        ...fields,
        secrets: (await listSecrets(db, client.id, clock.now())).map(
          ({ id, hint, signsFrom }) => `${id} (…${hint}), signs webhooks from ${signsFrom.toISOString()}`,
        ),
        ...(await describeRequest(db, client.id)),
      })
    },
  },
  {
    name: 'client update',
    needs: 'database',
    summary: 'Changes the name, callback, scopes, rotation or certificate of a client.',
    positionals: ['client'],
    options: [
      { name: 'name', value: 'TEXT', meaning: 'new name' },
      { name: 'callback', value: 'URL', meaning: 'new callback' },
      {
        name: 'scope',
        value: 'SCOPES',
        meaning: 'what it may ask for at most; answers what the partner asked for',
      },
      {
        name: 'required',
        value: 'SCOPES|none',
        meaning: 'what account holders cannot leave out where it asks for that',
      },
      rotationOption,
      {
        name: 'certificate-subject',
        value: 'DN',
        meaning: 'subject of its certificate by an authority of MTLS_CA_FILE (RFC 4514); empty removes it',
      },
    ],
    async run(context, words) {
      const client = await getClient(context.db, words.positional('client'))
      const change = Object.fromEntries(
        Object.entries({
          name: words.find('name'),
          callbackUrl: words.find('callback'),
          rotateRefreshTokens: parseRotation(words.find(rotationOption.name)),
        }).filter(([, value]) => value !== undefined),
      )
      const atMost = parseMost(words.find('scope'))
      const required = parseRequired(words.find('required'))
      const { db, act, print } = context
      if (Object.keys(change).length > 0) await updateClient(db, client, change, acting(context))
      if (atMost && !covers(client.scopesAtMost, atMost))
        await breakGlass(context, 'partner.widen-scopes', `client:${client.id}`)
      if (atMost) await setScopesAtMost(db, client, atMost, act())
      if (required) await setScopesRequired(db, await getClient(db, client.id), required, act())
      const subject = words.find('certificate-subject')
      if (subject !== undefined) await setCertificateSubject(db, client, subject.trim() || null, act())
      print.record(fieldsOf(await getClient(db, client.id), act().at))
    },
  },
  profileCommand,
  answerCommand('grant-scopes', 'Grants the wider scopes that a client was asked for.', true),
  answerCommand('decline-scopes', 'Declines the wider scopes that a client was asked for.', false),
  statusCommand('suspend', 'Suspends a client: its tokens stop working at once.', 'suspended'),
  statusCommand('activate', 'Activates a suspended client.', 'active'),
  {
    name: 'client secrets',
    needs: 'reading',
    summary:
      'Lists the live secrets of a client: when each was made, signs webhooks from, was last used and ends.',
    positionals: ['client'],
    async run({ db, clock, print }, { positional }) {
      const client = await getClient(db, positional('client'))
      const rows = await listSecrets(db, client.id, clock.now())
      print.table(
        rows.map(({ id, hint, createdAt, signsFrom, expiresAt, lastUsedAt }) => ({
          id,
          hint,
          created_at: createdAt,
          signs_from: signsFrom,
          expires_at: expiresAt,
          last_used_at: lastUsedAt,
        })),
        'The client has no live secret.',
      )
    },
  },
  {
    name: 'client rotate-secret',
    needs: 'database',
    summary: 'Issues a second secret, shown once. The old one works until the overlap ends.',
    positionals: ['client'],
    options: [
      { name: 'overlap', value: 'DURATION', meaning: 'how long the old one still works: 7d unless given' },
      {
        name: 'switch-after',
        value: 'DURATION',
        meaning: 'how long the old one still signs webhooks, at most the overlap and 7d: 0s unless given',
      },
    ],
    async run(context, words) {
      const { db, vault, print } = context
      const client = await getClient(db, words.positional('client'))
      const overlapMs = parseDuration(words.find('overlap') ?? '7d')
      const switchAfterMs = parseDuration(words.find('switch-after') ?? '0s', 'switch-after')
      const act = context.act()
      const rotation = { overlapMs, switchAt: after(act.at, switchAfterMs) }
      const rotating = rotateSecret(db, vault, client, rotation, act)
      const { secret, oldSecretEndsAt, signsFrom } = await rotating.catch((error: unknown) => {
        throw error instanceof Conflict ? pointToSecrets(error, client) : error
      })
      print.record({
        client_id: client.id,
        client_secret: secret.text,
        signs_webhooks_from: signsFrom,
        old_secret_ends_at: oldSecretEndsAt,
      })
    },
  },
  {
    name: 'client revoke-secret',
    needs: 'database',
    summary: 'Ends one secret of a client at once.',
    positionals: ['client', 'secret id'],
    async run({ db, act, print }, { positional }) {
      const client = await getClient(db, positional('client'))
      await revokeSecret(db, client, Number(positional('secret id')) || 0, act())
      print.record({ client_id: client.id, revoked_secret: Number(positional('secret id')) })
    },
  },
]

async function withPartners(db: Sql, clients: readonly Client[], now: Date) {
  const names = await namePartners(
    db,
    clients.map((client) => client.branchId),
  )
  return clients.map((client) => {
    const { id, ...fields } = fieldsOf(client, now)
    return { id, partner: names.get(client.branchId) ?? null, ...fields }
  })
}

function fieldsOf(client: Client, now: Date) {
  const { id, environment, name, scopes, status } = client
  return {
    ...{ id, branch_id: client.branchId, environment, name, callback_url: client.callbackUrl },
    ...{ scopes, scopes_at_most: client.scopesAtMost, scopes_required: client.scopesRequired, status },
    ...{ rotate_refresh_tokens: client.rotateRefreshTokens, ...printProfile(client, now) },
    certificate_subject: client.certificateSubject,
    created_at: client.createdAt,
  }
}

function pointToSecrets({ message }: Conflict, { id }: Client): Conflict {
  return new Conflict(`${message} "countersign client secrets ${id}" lists them.`)
}

function parseMost(text: string | undefined): readonly Scope[] | undefined {
  const atMost = text === undefined ? undefined : parseClientScopes(text)
  if (atMost && 'field' in atMost) throw new Invalid([atMost])
  return atMost
}

function parseRequired(text: string | undefined): readonly Scope[] | undefined {
  if (text === undefined || text === 'none') return text === undefined ? undefined : []
  const required = parseClientScopes(text)
  if ('field' in required) throw new Invalid([{ ...required, field: 'required' }])
  return required
}

async function describeRequest(db: WriteContext['db'], clientId: string): Promise<Record<string, unknown>> {
  const asked = await findOpenScopeRequest(db, clientId)
  const profile = await findProfileRequest(db, clientId)
  return {
    ...(asked && { asks_for_scopes: asked.scopes, asks_because: asked.reason }),
    ...(profile?.answeredAt === null && { asks_for_fapi2_from: profile.wishedFrom ?? 'any time' }),
  }
}

function answerCommand(verb: string, summary: string, granted: boolean): Command {
  return {
    name: `client ${verb}`,
    needs: 'database',
    summary,
    positionals: ['client'],
    async run(context, { positional }) {
      const { db, act, print } = context
      const client = await getClient(db, positional('client'))
      const asked = await findOpenScopeRequest(db, client.id)
      if (asked && granted) await breakGlass(context, 'partner.widen-scopes', `client:${client.id}`)
      if (!asked || !(await answerScopeRequest(db, client, { id: asked.id, granted }, act())))
        throw new NotFound(`No wider scopes are asked for the client "${client.id}".`)
      print.record(fieldsOf(await getClient(db, client.id), act().at))
    },
  }
}

function statusCommand(verb: string, summary: string, status: 'active' | 'suspended'): Command {
  return {
    name: `client ${verb}`,
    needs: 'database',
    summary,
    positionals: ['client'],
    async run({ db, act, print }, { positional }) {
      const client = await getClient(db, positional('client'))
      await setClientStatus(db, client, status, act())
      print.record({ client_id: client.id, status })
    },
  }
}

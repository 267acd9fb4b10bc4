import { setClientStatus } from '../../../src/partners/client.ts'
import { addKeys, listKeys, removeKey } from '../../../src/partners/client-keys.ts'
import { readJwksText } from '../../../src/partners/jwks.ts'
import { type Answer, send } from '../../support/browser.ts'
import { makeKey, printJwks } from '../../support/client-keys.ts'
import {
  callAs,
  exchange,
  type Fapi2Client,
  getProfile,
  makeCode,
  makePkce,
  type Pkce,
  signProof,
} from '../../support/fapi.ts'
import { basic } from '../../support/gateway.ts'
import {
  ask,
  assertion,
  boundTokens,
  by,
  dpopKey,
  house,
  makeOther,
  other,
  otherTokens,
  type Row,
  standard,
} from './house.ts'

const { db } = house.gateway.context
const refreshPath = '/v1/oauth/refreshtoken'
type More = Parameters<typeof exchange>[4]

/** A code of this client, traded with what is wrong. */
const trading = (
  source: string,
  sent: string,
  trade: (code: string, pkce: Pkce) => Promise<Answer>,
  more: Partial<Row> = {},
): Row => ({
  ...{ source, sent: `a code ${sent}`, error: 'invalid_grant', ...more },
  async send() {
    const pkce = makePkce()
    return trade(await makeCode(by, pkce), pkce)
  },
})

const withFields = (code: string, pkce: Pkce, fields: NonNullable<More>['fields']) =>
  exchange(by, dpopKey, code, pkce, { ...(fields && { fields }) })

const refreshing = (
  source: string,
  sent: string,
  refresh: (refreshToken: string) => Promise<Answer>,
  more: Partial<Row> = {},
): Row => ({
  ...{ source, sent: `a refresh ${sent}`, error: 'invalid_grant', ...more },
  send: async () => refresh((await boundTokens()).refresh_token!),
})

const refreshAs = (
  of: Fapi2Client,
  refresh_token: string,
  more: Partial<Parameters<typeof callAs>[2]> = {},
) =>
  callAs(of, refreshPath, {
    dpopKey,
    ...more,
    fields: { grant_type: 'refresh_token', refresh_token, ...more.fields },
  })

const nobody = { client_assertion: [], client_assertion_type: [] }

async function ownToken(of: Fapi2Client = by): Promise<string> {
  return (await ask({}, { of })).json<{ access_token: string }>().access_token
}

/** At an address of the webhook interface. */
async function readWebhooks(of: Fapi2Client, token: string, twist = {}): Promise<Answer> {
  const url = `${house.baseUrl}/v2/webhooks`
  const dpop = await signProof(of, dpopKey, { method: 'GET', url, token }, twist)
  return send(url, { headers: { authorization: `DPoP ${token}`, dpop } })
}

export const ofGrants: Row[] = [
  trading(
    'RFC 7636 4.6',
    'without code_verifier',
    (code, pkce) => withFields(code, pkce, { code_verifier: [] }),
    { rule: 'fapi-verifier' },
  ),
  trading('RFC 7636 4.6', 'with another code_verifier', (code) => exchange(by, dpopKey, code, makePkce())),
  trading('RFC 7636 4.6', 'with its challenge as code_verifier', (code, { challenge }) =>
    exchange(by, dpopKey, code, { challenge, verifier: challenge }),
  ),
  trading('RFC 6749 4.1.3', 'with another redirect_uri', (code, pkce) =>
    withFields(code, pkce, { redirect_uri: 'https://app.example.com/other' }),
  ),
  trading('RFC 6749 4.1.3', 'of another client', (code, pkce) => exchange(other, dpopKey, code, pkce)),
  trading('FAPI 2.0 SP 5.3.2.2', 'for the second time', async (code, pkce) => {
    await exchange(by, dpopKey, code, pkce)
    house.clock.advance(1_000)
    return exchange(by, dpopKey, code, pkce)
  }),
  trading('FAPI 2.0 SP 5.3.2.1', 'after 61 seconds', (code, pkce) => {
    house.clock.advance(61_000)
    return exchange(by, dpopKey, code, pkce)
  }),
  trading('FAPI 2.0 SP 5.3.2.1', 'without a proof', (code, pkce) => exchange(by, undefined, code, pkce), {
    ...{ rule: 'fapi-binding', error: 'invalid_request' },
  }),
  {
    ...{ source: 'RFC 9449 10', sent: 'a code that dpop_jkt binds to another key', error: 'invalid_grant' },
    async send() {
      const pkce = makePkce()
      const code = await makeCode(by, pkce, { dpop_jkt: 'x'.repeat(43) })
      return exchange(by, dpopKey, code, pkce)
    },
  },
  trading(
    'RFC 6749 4.1.3',
    'with client_id of another client',
    (code, pkce) => withFields(code, pkce, { client_id: other.client.id }),
    {
      ...{ rule: 'assertion-client', error: 'invalid_client' },
    },
  ),
  trading(
    'RFC 8707 2.2',
    'for a resource that was not asked for',
    (code, pkce) => withFields(code, pkce, { resource: 'https://nowhere.example' }),
    {
      error: 'invalid_target',
    },
  ),

  refreshing('RFC 9449 5', 'without a proof', (token) => refreshAs(by, token, { dpopKey: undefined }), {
    ...{ rule: 'fapi-binding', error: 'invalid_request' },
  }),
  refreshing(
    'RFC 6749 6',
    'without client authentication',
    (token) => refreshAs(by, token, { fields: nobody }),
    {
      error: 'invalid_client',
    },
  ),
  refreshing(
    'RFC 6749 6',
    'without client authentication, with client_id',
    (token) => refreshAs(by, token, { fields: { ...nobody, client_id: by.client.id } }),
    {
      error: 'invalid_client',
    },
  ),
  refreshing('RFC 6749 6', 'by another client', (token) => refreshAs(other, token)),
  refreshing(
    'RFC 6749 6',
    'for more than was approved',
    (token) => refreshAs(by, token, { fields: { scope: 'stream' } }),
    {
      error: 'invalid_scope',
    },
  ),
  refreshing('RFC 6749 6', 'with an access token', async () =>
    refreshAs(by, (await boundTokens()).access_token),
  ),
  {
    ...{ source: 'RFC 6749 6', sent: 'a refresh with the token of another client', error: 'invalid_grant' },
    send: async () => refreshAs(by, (await otherTokens()).refresh_token!),
  },

  ...['read', 'webhooks read', 'trade'].map(
    (scope): Row => ({
      ...{ source: 'RFC 6749 4.4', sent: `client_credentials for the scope ${scope}` },
      error: 'invalid_scope',
      send: () => ask({ fields: { scope } }),
    }),
  ),
  {
    ...{
      source: 'RFC 6749 4.4',
      sent: 'client_credentials of a client of the standard profile, with its secret',
    },
    error: 'unsupported_grant_type',
    async send() {
      return ask({ fields: nobody, headers: basic(standard) })
    },
  },
  ...(['password', 'implicit', 'urn:ietf:params:oauth:grant-type:jwt-bearer'] as const).map(
    (grant_type): Row => ({
      ...{ source: 'FAPI 2.0 SP 5.3.2.1', sent: `the grant ${grant_type}`, error: 'unsupported_grant_type' },
      send: () => ask({ fields: { grant_type, username: 'a', password: 'b' } }),
    }),
  ),
  {
    ...{ source: 'RFC 6749 4.4', sent: 'at the profile a token of the client’s own', error: 'invalid_token' },
    status: 401,
    send: async () => getProfile(by, dpopKey, await ownToken()),
  },
  {
    ...{ source: 'RFC 9449 7.2', sent: 'at /v2 a token of the client’s own after the word Bearer' },
    ...{ rule: 'token-scheme', error: 'invalid_token', status: 401 },
    send: async () =>
      send(`${house.baseUrl}/v2/webhooks`, { headers: { authorization: `Bearer ${await ownToken()}` } }),
  },
  {
    ...{
      source: 'RFC 9449 7.1',
      sent: 'at /v2 a token of the client’s own with a proof for another address',
    },
    ...{ rule: 'dpop-address', error: 'invalid_dpop_proof', status: 401 },
    send: async () => readWebhooks(by, await ownToken(), { claims: { htu: `${house.baseUrl}/v2/events` } }),
  },
  {
    ...{ source: 'RFC 6750 3.1', sent: 'at /v2 a token of the client’s own on the other site' },
    ...{ error: 'invalid_token', status: 401 },
    send: async () =>
      send(`${house.sandboxUrl}/v2/webhooks`, { headers: { authorization: `DPoP ${await ownToken()}` } }),
  },
  {
    ...{
      source: 'RFC 6749 4.4',
      sent: 'at /v2 a token that a user approved',
      error: 'invalid_token',
      status: 401,
    },
    send: async () => readWebhooks(by, (await boundTokens()).access_token),
  },
  {
    ...{ source: 'RFC 7009 2', sent: 'at /v2 a token of the client’s own that it has revoked' },
    ...{ error: 'invalid_token', status: 401 },
    async send() {
      const token = await ownToken()
      await readWebhooks(by, token)
      await callAs(by, '/v1/oauth/revoke', { fields: { token } })
      return readWebhooks(by, token)
    },
  },
  {
    ...{ source: 'RFC 6749 4.4', sent: 'at /v2 a token of the own of a client that is suspended' },
    ...{ error: 'invalid_token', status: 401 },
    async send() {
      const suspended = await makeOther()
      const token = await ownToken(suspended)
      await readWebhooks(suspended, token)
      await setClientStatus(db, suspended.client, 'suspended', house.act())
      return readWebhooks(suspended, token)
    },
  },
  {
    ...{ source: 'RFC 6749 5.2', sent: 'an assertion of a suspended client', error: 'unauthorized_client' },
    async send() {
      const suspended = await makeOther()
      await setClientStatus(db, suspended.client, 'suspended', house.act())
      return ask({}, { of: suspended })
    },
  },
  {
    ...{ source: 'RFC 7523 3', sent: 'an assertion by a key that was removed' },
    ...{ rule: 'assertion-key', error: 'invalid_client' },
    async send() {
      const removing = await makeOther()
      await addKeys(db, removing.client, readJwksText(printJwks(makeKey())), house.act())
      const signed = assertion({}, removing)
      const kid = removing.key.publicJwk.kid
      const [key] = (await listKeys(db, removing.client.id)).filter((each) => each.kid === kid)
      await removeKey(db, removing.client, key!.id, house.act())
      return ask({ assertion: signed }, { of: removing })
    },
  },
]

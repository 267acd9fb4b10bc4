import { setClientStatus, updateClient } from '../../../src/partners/client.ts'
import { type Answer, Browser, postForm, send } from '../../support/browser.ts'

import {
  answerRequest,
  callbackUrl,
  type Fapi2Client,
  makeFapi2Client,
  makePkce,
  push,
  pushFields,
} from '../../support/fapi.ts'
import { basic } from '../../support/gateway.ts'
import { by, dpopKey, house, makeOther, other, type Row, standard } from './house.ts'

const par = 'RFC 9126 2.1'
const sp = 'FAPI 2.0 SP 5.3.2.2'

type Fields = NonNullable<NonNullable<Parameters<typeof push>[2]>['fields']>

/** A push that differs from what is right in these fields; an empty list leaves out. */
const pushing = (sent: string, fields: Fields, more: Partial<Row> = {}): Row => ({
  ...{ source: sp, sent: `a push ${sent}`, error: 'invalid_request', ...more },
  send: () => push(by, makePkce(), { fields }),
})

async function pushedName(of: Fapi2Client = by, fields: Fields = {}): Promise<string> {
  return (await push(of, makePkce(), { fields })).json<{ request_uri: string }>().request_uri
}

const authorize = (query: Record<string, string>, origin = house.baseUrl): Promise<Answer> =>
  new Browser(origin).get(`/v1/oauth/authorize?${new URLSearchParams(query)}`)

const altered = (text: string) => {
  const place = text.length - 40
  return text.slice(0, place) + (text[place] === 'A' ? 'B' : 'A') + text.slice(place + 1)
}

/** What the browser brings, told to the callback. */
const bringing = (sent: string, name: () => Promise<string>, more: Partial<Row> = {}): Row => ({
  ...{ source: 'RFC 9126 4', sent: `at authorize a request_uri ${sent}` },
  ...{ error: 'invalid_request_uri', status: 302, ...more },
  send: async () => authorize({ client_id: by.client.id, request_uri: await name() }),
})

async function answered(decision: string): Promise<string> {
  const name = await pushedName()
  const browser = await house.signIn(await house.makeUser())
  await answerRequest(by, browser, name, decision)
  return name
}

export const ofRequests: Row[] = [
  pushing('with a request_uri', { request_uri: 'urn:ietf:params:oauth:request_uri:x' }, { source: par }),
  pushing('without redirect_uri', { redirect_uri: [] }, { rule: 'fapi-callback' }),
  pushing('with an empty redirect_uri', { redirect_uri: '' }, { rule: 'fapi-callback' }),
  pushing('with another redirect_uri', { redirect_uri: `${callbackUrl}/` }),
  pushing('with the redirect_uri in other letters', { redirect_uri: callbackUrl.replace('app', 'App') }),
  pushing('without response_type', { response_type: [] }, { rule: 'fapi-response-type' }),
  pushing('for a token', { response_type: 'token' }, { error: 'unsupported_response_type' }),
  pushing(
    'for a code and an id_token',
    { response_type: 'code id_token' },
    { error: 'unsupported_response_type' },
  ),
  pushing(
    'without code_challenge',
    { code_challenge: [], code_challenge_method: [] },
    { source: 'RFC 7636 4.4.1', rule: 'fapi-challenge' },
  ),
  pushing(
    'without code_challenge, with its method',
    { code_challenge: [] },
    { source: 'RFC 7636 4.4.1', rule: 'fapi-challenge' },
  ),
  pushing(
    'whose code_challenge_method is plain',
    { code_challenge_method: 'plain' },
    { source: 'RFC 7636 4.4.1' },
  ),
  pushing('without code_challenge_method', { code_challenge_method: [] }, { source: 'RFC 7636 4.4.1' }),
  pushing('with a code_challenge that is no hash', { code_challenge: 'short' }, { source: 'RFC 7636 4.2' }),
  pushing('with state twice', { state: ['a', 'b'] }, { source: 'RFC 6749 3.1' }),
  pushing('with a line break in state', { state: 'a\nb' }, { source: 'RFC 6749 A.5' }),
  pushing(
    'with an unknown scope',
    { scope: 'read all' },
    { source: 'RFC 6749 4.1.2.1', error: 'invalid_scope' },
  ),
  pushing(
    'for the scope of its own tokens',
    { scope: 'webhooks' },
    { source: 'RFC 6749 4.4', error: 'invalid_scope' },
  ),
  pushing(
    'for a resource that there is none of',
    { resource: 'https://nowhere.example' },
    { source: 'RFC 8707 2', error: 'invalid_target' },
  ),
  pushing('with a dpop_jkt that is no thumbprint', { dpop_jkt: 'short' }, { source: 'RFC 9449 10' }),
  {
    ...{ source: 'RFC 9449 10.1', sent: 'a push whose dpop_jkt is of another key than its proof' },
    ...{ rule: 'dpop-other-key', error: 'invalid_dpop_proof' },
    send: () => push(by, makePkce(), { dpopKey, fields: { dpop_jkt: 'x'.repeat(43) } }),
  },
  {
    ...{ source: 'RFC 9126 2.1', sent: 'a push with client_id of another client' },
    ...{ rule: 'assertion-client', error: 'invalid_client' },
    send: () => push(by, makePkce(), { fields: { client_id: other.client.id } }),
  },
  {
    ...{
      source: 'FAPI 2.0 SP 5.3.2.2',
      sent: 'a push without client authentication',
      error: 'invalid_client',
    },
    send: () =>
      postForm(`${house.baseUrl}/v1/oauth/par`, { ...pushFields(makePkce()), client_id: by.client.id }),
  },
  {
    ...{ source: 'RFC 9126 2', sent: 'a push of a suspended client', error: 'unauthorized_client' },
    async send() {
      const suspended = await makeOther()
      await setClientStatus(house.gateway.context.db, suspended.client, 'suspended', house.act())
      return push(suspended, makePkce())
    },
  },
  {
    ...{ source: 'RFC 9126 2.3', sent: 'a push by PUT', error: 'invalid_request', status: 405 },
    send: () => send(`${house.baseUrl}/v1/oauth/par`, { method: 'PUT', body: 'x' }),
  },
  ...['par', 'accesstoken', 'refreshtoken', 'revoke', 'introspect'].map(
    (name): Row => ({
      ...{ source: 'FAPI 2.0 SP 5.3.2.1', sent: `at ${name} its secret by Basic` },
      ...{ rule: 'fapi-key', error: 'invalid_client' },
      send: () => postForm(`${house.baseUrl}/v1/oauth/${name}`, { token: 'x' }, basic(by.client)),
    }),
  ),
  ...['par', 'accesstoken', 'refreshtoken', 'revoke', 'introspect'].map(
    (name): Row => ({
      ...{ source: 'FAPI 2.0 SP 5.3.2.1', sent: `at ${name} its secret in the form` },
      ...{ rule: 'fapi-key', error: 'invalid_client' },
      send: () =>
        postForm(`${house.baseUrl}/v1/oauth/${name}`, {
          ...{ token: 'x', client_id: by.client.id, client_secret: by.client.secret },
        }),
    }),
  ),
  {
    ...{
      source: 'FAPI 2.0 SP 5.3.2.1',
      sent: 'at /v2 its secret by Basic',
      error: 'unauthorized',
      status: 401,
    },
    send: () => send(`${house.baseUrl}/v2/webhooks`, { headers: basic(by.client) }),
  },
  {
    ...{ source: sp, sent: 'at authorize a request that was not pushed' },
    ...{ rule: 'fapi-pushed', error: 'invalid_request', status: 302 },
    send: () =>
      authorize({
        client_id: by.client.id,
        state: 's',
        ...(pushFields(makePkce()) as Record<string, string>),
      }),
  },
  {
    ...{
      source: 'docs/interface.md 4.1',
      sent: 'at authorize a request of the standard profile without state',
    },
    ...{ rule: 'fapi-state', error: 'invalid_request', status: 302 },
    send: () => authorize({ client_id: standard.id, scope: 'read' }),
  },
  bringing('of another client', () => pushedName(other)),
  bringing('that is made up', async () => 'urn:ietf:params:oauth:request_uri:made-up'),
  bringing('that is an address', async () => 'https://app.example.com/request.jwt', {
    source: 'RFC 9101 10.5',
  }),
  bringing('that is altered by one character', async () => altered(await pushedName())),
  bringing('that was approved', () => answered('approve')),
  bringing('that was denied', () => answered('deny')),
  bringing('of the other site', async () => {
    const sandbox = await makeFapi2Client(house, { environment: 'sandbox' })
    return pushedName(sandbox)
  }),
  bringing('that is older than its expires_in', async () => {
    const name = await pushedName()
    house.clock.advance(90_000)
    return name
  }),
  {
    ...{ source: 'RFC 9126 7.4', sent: 'at authorize a request_uri of before its scopes were taken' },
    ...{ error: 'invalid_scope', status: 302 },
    async send() {
      const narrowed = await makeOther()
      const request_uri = await pushedName(narrowed, { scope: 'read trade' })
      const { db } = house.gateway.context
      await updateClient(db, narrowed.client, { scope: 'read' }, { ...house.act(), development: true })
      return authorize({ client_id: narrowed.client.id, request_uri })
    },
  },
  {
    ...{ source: 'RFC 9126 7.4', sent: 'at authorize a request_uri of before the client was suspended' },
    ...{ error: 'unauthorized_client', status: 400 },
    async send() {
      const suspended = await makeOther()
      const request_uri = await pushedName(suspended)
      await setClientStatus(house.gateway.context.db, suspended.client, 'suspended', house.act())
      const query = new URLSearchParams({ client_id: suspended.client.id, request_uri })
      return send(`${house.baseUrl}/v1/oauth/authorize?${query}`, { headers: { accept: 'application/json' } })
    },
  },
]

/**
 * RFC 8705: each site has an address for clients that show a certificate, and says so; browsers are not asked
 * for one.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { apiRoutes } from '../../src/api/routes.ts'
import { day } from '../../src/clock.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { send } from '../support/browser.ts'
import { issueCertificate } from '../support/certificate.ts'
import { basic, isInternal, openHouse, openTestGateway } from '../support/gateway.ts'
import { makeFolder } from '../support/process.ts'

const folder = makeFolder()
const times = { from: new Date(Date.now() - day), to: new Date(Date.now() + day) }
const write = (name: string, held: string) => {
  writeFileSync(join(folder, name), held)
  return join(folder, name)
}
const own = issueCertificate({ subject: [['CN', 'localhost']], altNames: ['localhost'], ...times })
const authority = issueCertificate({ subject: [['CN', 'Authority']], isAuthority: true, ...times })
const tls = { TLS_CERT_FILE: write('own.pem', own.cert), TLS_KEY_FILE: write('own.key', own.key) }
const house = await openHouse({
  ...tls,
  MTLS_PORT: '0',
  MTLS_CA_FILE: write('authority.pem', authority.cert),
})
const path = '/.well-known/oauth-authorization-server'

interface Asked {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

async function ask(url: string, { method = 'GET', headers = {}, body }: Asked = {}) {
  const asked = request(url, { method, headers, rejectUnauthorized: false, agent: false })
  const [answer] = await once(asked.end(body), 'response')
  const read = await text(answer)
  return { status: answer.statusCode as number, type: String(answer.headers['content-type']), text: read }
}

interface Metadata {
  readonly issuer: string
  readonly token_endpoint: string
  readonly mtls_endpoint_aliases: Record<string, string>
  readonly [more: string]: unknown
}

const describe = async (url: string): Promise<Metadata> => JSON.parse((await ask(url + path)).text)
const originOf = (metadata: Metadata) => new URL(metadata.mtls_endpoint_aliases.token_endpoint!).origin
const sites = await Promise.all(
  [house.baseUrl, house.sandboxUrl].map(async (url) => ({ url, metadata: await describe(url) })),
)

test('each site says by which address such clients come, and what they may sign in with (RFC 8705, 2, 3.3 and 5)', async () => {
  const origins = sites.map(({ metadata }) => originOf(metadata))
  assert.equal(new Set([...origins, ...sites.map(({ url }) => url)]).size, 4)
  for (const { url, metadata } of sites) {
    assert.equal(metadata.issuer, url)
    assert.equal(metadata.tls_client_certificate_bound_access_tokens, true)
    for (const resource of ['', '/v1/user/profile', '/v2/webhooks']) {
      const { text: said } = await ask(`${url}/.well-known/oauth-protected-resource${resource}`)
      assert.equal(JSON.parse(said).tls_client_certificate_bound_access_tokens, true, resource)
    }
    for (const kind of ['token', 'revocation', 'introspection'])
      assert.deepEqual(
        (metadata[`${kind}_endpoint_auth_methods_supported`] as string[]).filter((each) =>
          each.includes('tls'),
        ),
        ['tls_client_auth', 'self_signed_tls_client_auth'],
      )
    const { mtls_endpoint_aliases: aliases } = metadata
    for (const name of ['token_endpoint', 'revocation_endpoint', 'introspection_endpoint'])
      assert.equal(aliases[name], String(metadata[name]).replace(url, originOf(metadata)))
    for (const name of Object.keys(aliases)) assert.ok(name in metadata, name)
    assert.deepEqual(
      await describe(originOf(metadata)),
      metadata,
      'the issuer is one, whichever way it is asked',
    )
  }
})

test('every endpoint is there by the other address, for the clients of its own site', async () => {
  for (const [index, environment] of (['live', 'sandbox'] as const).entries()) {
    const client = await house.makeClient({ environment })
    const headers = { ...basic(client), 'content-type': 'application/x-www-form-urlencoded' }
    for (const { metadata } of sites) {
      const isOwn = metadata === sites[index]!.metadata
      for (const address of Object.values(metadata.mtls_endpoint_aliases)) {
        const { status, text: body } = await ask(address, { method: 'POST', headers, body: '' })
        const expected = isOwn ? [400, 'invalid_request'] : [401, 'invalid_client']
        assert.deepEqual([status, JSON.parse(body).error], expected, address)
      }
    }
  }
  for (const { url, metadata } of sites)
    for (const address of ['/healthz', '/v1/user/profile', '/v2/webhooks', '/openapi.json'])
      assert.deepEqual(
        await ask(originOf(metadata) + address).then(({ status }) => status),
        await ask(url + address).then(({ status }) => status),
        address,
      )
})

test('what is for people is not, nor what is internal: every page is a 404 there, in JSON', async () => {
  const others = [...pageRoutes, ...apiRoutes.filter((row) => isInternal(row.path))]
  const served = new Set(apiRoutes.map((row) => row.path))
  assert.ok(others.length > 100)
  const origin = originOf(sites[0]!.metadata)
  const assets = /\/assets\/[^"]+\.css/.exec((await ask(`${house.baseUrl}/login`)).text)!
  const rows = others.filter((row) => isInternal(row.path) || !served.has(row.path))
  for (const { method, path: address } of [...rows, { method: 'GET', path: assets[0] }]) {
    const url = origin + address.replaceAll(/:\w+/g, '1')
    const answer = await ask(url, { method: String(method), headers: { accept: 'text/html' } })
    assert.equal(answer.status, 404, `${method} ${address}`)
    assert.match(answer.type, /^application\/json/, `${method} ${address}`)
  }
})

test('a gateway that asks for no certificates says nothing of them', async () => {
  const plain = await openHouse()
  for (const each of [path, '/.well-known/oauth-protected-resource']) {
    const document = (await send(plain.baseUrl + each)).json()
    assert.doesNotMatch(JSON.stringify(document), /mtls|tls_client/)
  }
})

test('a proxy that asks for them may have an address of its own for it, or the same', async () => {
  const proxy = { MTLS_PROXY_HEADER: 'true', TRUST_PROXY: '127.0.0.1' }
  const [one, other] = await Promise.all([
    openHouse({ ...proxy, MTLS_URL: 'https://mtls.example.com' }),
    openHouse(proxy),
  ])
  const told = async (url: string) => (await send(url + path)).json<Metadata>()
  assert.equal(originOf(await told(one.baseUrl)), 'https://mtls.example.com')
  const [sandbox, same] = await Promise.all([told(one.sandboxUrl), told(other.baseUrl)])
  for (const document of [sandbox, same]) {
    assert.equal(document.tls_client_certificate_bound_access_tokens, true)
    assert.equal(document.mtls_endpoint_aliases, undefined)
    assert.deepEqual(
      (document.token_endpoint_auth_methods_supported as string[]).filter((each) => each.includes('tls')),
      ['self_signed_tls_client_auth'],
      'without MTLS_CA_FILE no subject says anything',
    )
  }
})

test('the address may be another than that of the port, and a port that is taken is told by its setting', async () => {
  const { port } = new URL(originOf(sites[0]!.metadata))
  await assert.rejects(openTestGateway({ ...tls, MTLS_PORT: port, SANDBOX_MTLS_PORT: '0' }), {
    message: `Port ${port} is taken by another program. Set MTLS_PORT to a free one.`,
  })
  const named = await openHouse({ ...tls, MTLS_PORT: '0', MTLS_URL: 'https://mtls.example.com' })
  assert.equal(originOf(await describe(named.baseUrl)), 'https://mtls.example.com')
})

/** CORS: pages of other origins may read the public documents, and nothing else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiRoutes } from '../../src/api/routes.ts'
import { pageRoutes } from '../../src/web/routes.ts'
import { type SentRequest, send } from '../support/browser.ts'
import { openHouse } from '../support/gateway.ts'

const house = await openHouse()

/**
 * All that programs find out by themselves; the document about resources has an address beside each of them.
 */
const publicDocument =
  /^\/(openapi\.json$|\.well-known\/(oauth-authorization-server$|jwks\.json$|openid-configuration$|oauth-protected-resource(\/|$)))/
const origin = 'https://app.example.com'
const corsHeaders = (headers: object) =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'))

test('the public documents may be read by pages of any origin, without credentials', async () => {
  const resource = '/.well-known/oauth-protected-resource'
  const documents = [
    '/openapi.json',
    '/.well-known/oauth-authorization-server',
    '/.well-known/jwks.json',
    resource,
    `${resource}/v1/user/profile`,
  ]
  for (const path of documents) {
    for (const method of ['GET', 'HEAD'] as const) {
      const answer = await send(house.baseUrl + path, { method, headers: { origin } })
      assert.equal(answer.status, 200, path)
      assert.equal(answer.headers['access-control-allow-origin'], '*')
      assert.deepEqual(corsHeaders(answer.headers), ['access-control-allow-origin'])
    }
  }
})

test('no other route has a CORS header, whatever its method, and a preflight is allowed nothing', async () => {
  const routes = [...apiRoutes, ...pageRoutes]
  assert.ok(routes.length > 80)
  const paths = [
    ...new Set(routes.map(({ path }) => path)),
    '/nowhere',
    '/healthz',
    '/readyz',
    '/countersign.css',
  ]
  for (const path of paths) {
    const url = house.at(path.replaceAll(/:\w+/g, '1'))
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
      const answer = await ask(url, method)
      const isPublic = publicDocument.test(path) && (method === 'GET' || method === 'HEAD')
      assert.deepEqual(
        corsHeaders(answer.headers),
        isPublic ? ['access-control-allow-origin'] : [],
        `${method} ${path}`,
      )
    }
  }
})

test('a row that is open to every origin is a public document that anybody may read', () => {
  const open = apiRoutes.filter(({ cors }) => cors !== undefined)
  assert.deepEqual(
    open,
    apiRoutes.filter(({ path }) => publicDocument.test(path)),
    'and every one of them is',
  )
  for (const { method, path, schema } of open) {
    assert.match(path, publicDocument)
    assert.equal(method, 'GET')
    assert.deepEqual(schema?.security ?? [], [])
  }
})

function ask(url: string, method: SentRequest['method'] & string) {
  const preflight = {
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'authorization',
  }
  return send(url, { method, headers: { origin, ...(method === 'OPTIONS' && preflight) } })
}

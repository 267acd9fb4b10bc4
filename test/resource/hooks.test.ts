/** The hooks of @countersign/resource, each in the framework that it is for. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { openBearers } from '../../resource/src/bearers.ts'
import * as forExpress from '../../resource/src/express.ts'
import * as forFastify from '../../resource/src/fastify.ts'
import * as forHono from '../../resource/src/hono.ts'
import { openHouse } from '../support/gateway.ts'
import { findFreePort } from '../support/ports.ts'
import { MovedClock, makeService } from '../support/resource.ts'

const house = await openHouse()
const user = await house.makeUser('ada', ['ACCOUNT1'])
const token = await house.makeToken(user)
const common = {
  internalUrl: house.internalUrl,
  credential: await makeService(house),
  clock: new MovedClock(house),
  metadataUrl: 'https://orders.example.com/.well-known/oauth-protected-resource',
}
const bearers = openBearers({ ...common, issuer: house.baseUrl })
const unreachable = openBearers({ ...common, issuer: `http://127.0.0.1:${await findFreePort()}` })
after(() => {
  bearers.close()
  unreachable.close()
})

const scope = 'read'
type Call = (path: string, headers: Record<string, string>) => Promise<Response>

async function callFastify(): Promise<Call> {
  const app = fastify()
  const protect = forFastify.requireAccess(bearers, {
    scope,
    account: ({ params }) => params.account,
  })
  app.get('/accounts/:account', { onRequest: protect }, (request) => forFastify.accessOf(request))
  app.get('/open', (request) => forFastify.accessOf(request))
  const broken = forFastify.requireAccess(bearers, { scope, account: fail })
  app.get('/broken', { onRequest: broken }, () => 'never')
  app.get('/down', { onRequest: forFastify.requireAccess(unreachable, { scope }) }, () => 'never')
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  after(() => app.close())
  return (path, headers) => fetch(origin + path, { headers })
}

async function callExpress(): Promise<Call> {
  const app = express()
  const protect = forExpress.requireAccess(bearers, {
    scope,
    account: ({ params }) => params.account,
  })
  app.get('/accounts/:account', protect, (request, response) => response.json(forExpress.accessOf(request)))
  app.get('/open', (request, response) => response.json(forExpress.accessOf(request)))
  app.get('/broken', forExpress.requireAccess(bearers, { scope, account: fail }), fail)
  app.get('/down', forExpress.requireAccess(unreachable, { scope }), fail)
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close())
  const { port } = server.address() as AddressInfo
  return (path, headers) => fetch(`http://127.0.0.1:${port}${path}`, { headers })
}

async function callHono(): Promise<Call> {
  const app = new Hono()
  const protect = forHono.requireAccess(bearers, {
    scope,
    account: (context) =>
      (context as unknown as { req: { param(name: string): string } }).req.param('account'),
  })
  app.get('/accounts/:account', protect, (context) => context.json(forHono.accessOf(context)))
  app.get('/open', (context) => context.json(forHono.accessOf(context)))
  app.get('/broken', forHono.requireAccess(bearers, { scope, account: fail }), fail)
  app.get('/down', forHono.requireAccess(unreachable, { scope }), fail)
  return (path, headers) => app.request(path, { headers })
}

function fail(): never {
  throw new Error('a mistake of the API')
}

for (const [name, open] of Object.entries({ Fastify: callFastify, Express: callExpress, Hono: callHono })) {
  test(`${name}: a request is let in with its access, or refused with a challenge`, async () => {
    const call = await open()
    const authorization = `Bearer ${token}`
    const good = await call('/accounts/ACCOUNT1', { authorization })
    assert.equal(good.status, 200, await good.clone().text())
    const { subject, scopes, accounts } = (await good.json()) as Record<string, unknown>
    assert.deepEqual({ subject, accounts }, { subject: user.id, accounts: ['ACCOUNT1'] })
    assert.ok((scopes as string[]).includes('read'))

    const none = await call('/accounts/ACCOUNT1', {})
    assert.equal(none.status, 401)
    assert.equal(
      none.headers.get('www-authenticate'),
      `Bearer realm="countersign", scope="read", resource_metadata="${common.metadataUrl}"`,
    )
    assert.equal(none.headers.get('cache-control'), 'no-store')
    assert.equal(((await none.json()) as { error: string }).error, 'unauthorized')

    for (const wrong of [
      'Bearer x',
      `Bearer ${token}x`,
      `Basic ${token}`,
      `Bearer ${token}, Bearer ${token}`,
    ])
      assert.equal((await call('/accounts/ACCOUNT1', { authorization: wrong })).status, 401, wrong)
    assert.equal((await call('/accounts/ACCOUNT1', { authorization: `bearer ${token}` })).status, 200)
    const other = await call('/accounts/ACCOUNT2', { authorization })
    assert.equal(other.status, 403)
    assert.match(other.headers.get('www-authenticate')!, /error="insufficient_scope"/)
  })

  test(`${name}: nobody is let in by a mistake, and a gateway that is away is a 503`, async () => {
    const call = await open()
    const authorization = `Bearer ${token}`
    for (const path of ['/open', '/broken'])
      assert.equal((await call(path, { authorization })).status, 500, path)
    const down = await call('/down', { authorization })
    assert.equal(down.status, 503)
    assert.equal(down.headers.get('retry-after'), '1')
    assert.equal(down.headers.get('www-authenticate'), null)
  })
}

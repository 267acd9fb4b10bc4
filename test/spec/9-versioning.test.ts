/** Spec 9: the version is part of the path. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiRoutes } from '../../src/api/routes.ts'
import { postForm, send } from '../support/browser.ts'
import { basic, openHouse } from '../support/gateway.ts'
import { assertProblem } from '../support/oauth.ts'

const house = await openHouse()

test('OAuth and user paths begin with /v1, webhook and event paths with /v2', () => {
  for (const { path, takesEveryMethod } of apiRoutes) {
    // What a proxy asks has the version of the proxy's contract.
    if (takesEveryMethod || path.startsWith('/.well-known/') || path.endsWith('/openapi.json')) continue
    assert.match(
      path,
      /^\/(internal|admin)\/v1\/|^\/v1\/(oauth|user)\/|^\/v2\/(webhooks|events|deliveries)\b/,
      path,
    )
  }
})

test('a path without its version, or with another one, does not exist', async () => {
  const client = await house.makeClient()
  for (const version of ['', '/v0', '/v2', '/v3', '/v1.0', '/V1', '/1']) {
    assertProblem(
      await postForm(`${house.baseUrl}${version}/oauth/accesstoken`, {}, basic(client)),
      404,
      'not_found',
    )
    assertProblem(await send(`${house.baseUrl}${version}/user/profile`), 404, 'not_found')
    assertProblem(await send(`${house.baseUrl}${version}/oauth/authorize`), 404, 'not_found')
  }
})

/**
 * RFC 7523, 3 and RFC 9449, 11.1: what was taken once is refused again, at whichever node, and after a restart
 * as long as it would be good; at a resource by the same process.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeKey } from '../support/client-keys.ts'
import { getProfile, getTokens, makeFapi2Client, signProof } from '../support/fapi.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openSecondNode } from '../support/oauth.ts'
import { findFreePort } from '../support/ports.ts'
import { makeReplays, race } from '../support/replays.ts'

const house = await openHouse()
const by = await makeFapi2Client(house)

/** A node of the same sites. */
async function openNode() {
  const PORT = String(await findFreePort())
  const own = { PORT, SANDBOX_PORT: '0', BASE_URL: house.baseUrl, SANDBOX_URL: house.sandboxUrl }
  const node = await openSecondNode({ ...house, settings: { ...house.settings, ...own } })
  return { url: `http://127.0.0.1:${PORT}`, close: () => node.close() }
}

test('of an assertion and of a proof that two nodes get at the same moment one is taken', async () => {
  const node = await keepOpen(openNode())
  for (let round = 0; round < 5; round++) await race(by, [house.baseUrl, node.url])
})

test('after a restart it is still known, as long as it would be good', async () => {
  const before = await openNode()
  const replays = await makeReplays(by)
  for (const replay of replays) assert.ok((await replay.send(before.url)).status < 400)
  await before.close()
  const after = await keepOpen(openNode())
  for (const replay of replays) replay.assertRefused(await replay.send(after.url))
  house.clock.advance(59_000)
  for (const replay of replays) replay.assertRefused(await replay.send(after.url))
})

test('a proof at a resource is taken once, also of those that come at the same moment', async () => {
  const key = makeKey()
  const { access_token: token } = await getTokens(by, key)
  const url = `${house.baseUrl}/v1/user/profile`
  const proof = await signProof(by, key, { method: 'GET', url, token })
  const answers = await Promise.all([1, 2, 3, 4].map(() => getProfile(by, key, token, { proof })))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401, 401])
  house.clock.advance(59_000)
  assert.equal((await getProfile(by, key, token, { proof })).json().error, 'invalid_dpop_proof')
})

/** The same over processes, and after one of them was killed. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { askFresh, meetAll } from '../support/children.ts'
import { makeKey } from '../support/client-keys.ts'
import { openTestDatabase } from '../support/database.ts'
import { type Fapi2Client, getTokens, makeFapi2Client, signProof } from '../support/fapi.ts'
import { openTestGateway } from '../support/gateway.ts'
import { findFreePort, findFreePorts } from '../support/ports.ts'
import { endGateway, startGateway } from '../support/process.ts'
import { race } from '../support/replays.ts'

test('an assertion and a proof are taken once by all processes, and by those that follow them', async (t) => {
  const database = await openTestDatabase()
  t.after(() => database.close())
  const [port, other] = await findFreePorts(2)
  const nodes = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${other}`]
  const settings = {
    ...{ DATABASE_URL: database.url, SECRET_KEY: randomBytes(32).toString('hex') },
    ...{ BASE_URL: nodes[0], SANDBOX_PORT: '0', DATABASE_CONNECTIONS: '5' },
  }
  const here = await startGateway({ ...settings, PORT: String(port) })
  t.after(() => endGateway(here))
  const there = await startGateway({ ...settings, PORT: String(other) })
  t.after(() => endGateway(there))
  const house = await openTestGateway({
    DATABASE_URL: settings.DATABASE_URL,
    SECRET_KEY: settings.SECRET_KEY,
  })
  t.after(() => house.close())
  const made = await makeFapi2Client(house)
  house.clock.advance(Date.now() - house.clock.now().getTime())
  const by: Fapi2Client = { ...made, house: { ...house, baseUrl: nodes[0]! } }
  const replays = await race(by, nodes)
  here.kill('SIGKILL')
  await here.ended
  const again = await startGateway({ ...settings, PORT: String(port) })
  t.after(() => endGateway(again))
  assert.ok(replays.length > 0)
  const words = /was used before|iat was \d+ seconds ago/
  for (const replay of replays) replay.assertRefused(await replay.send(nodes[0]!), words)
})

test('a proof that one process of a node took at a resource is taken by none of the others', async (t) => {
  const database = await openTestDatabase()
  t.after(() => database.close())
  const port = await findFreePort()
  const processes = 3
  const settings = {
    ...{ DATABASE_URL: database.url, SECRET_KEY: randomBytes(32).toString('hex') },
    ...{ SANDBOX_PORT: '0', DATABASE_CONNECTIONS: '5' },
  }
  const node = await startGateway({ ...settings, PORT: String(port), PROCESSES: String(processes) })
  t.after(() => endGateway(node))
  const house = await openTestGateway(settings)
  t.after(() => house.close())
  house.clock.advance(Date.now() - house.clock.now().getTime())
  const dpopKey = makeKey()
  const { access_token: token } = await getTokens(await makeFapi2Client(house), dpopKey)

  const url = `${node.baseUrl}/v1/user/profile`
  const dpop = await signProof({ house }, dpopKey, { method: 'GET', url, token })
  await meetAll(node.baseUrl, processes)
  const asked = () => askFresh(url, { authorization: `DPoP ${token}`, dpop })
  const answers = [await asked(), await asked(), await asked(), await asked()]
  assert.equal(new Set(answers.map((answer) => answer.process)).size, processes)
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 401, 401, 401],
  )
  for (const { text } of answers.slice(1)) assert.match(text, /was used before/)
})

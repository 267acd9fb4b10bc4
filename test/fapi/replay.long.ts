/** The same over processes, and after one of them was killed. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { openTestDatabase } from '../support/database.ts'
import { type Fapi2Client, makeFapi2Client } from '../support/fapi.ts'
import { openTestGateway } from '../support/gateway.ts'
import { findFreePorts } from '../support/ports.ts'
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

/** kill -9 of the node that sends, after the mail server has the message and before that is written down. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { minute } from '../../src/clock.ts'
import { sendDue } from '../../src/notices/post.ts'
import { openSmtp } from '../../src/notices/smtp.ts'
import { openHouse } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openMailServer } from '../support/mail-server.ts'
import {
  from,
  makeReader,
  noticesOf,
  openPostDependencies,
  serverAt,
  writeNotice,
} from '../support/notices.ts'
import { type GatewayProcess, makeFolder, startGateway } from '../support/process.ts'

const server = await keepOpen(openMailServer())
const house = await openHouse({ ROLES: 'api', SECRET_KEY: randomBytes(32).toString('hex') })

test('a node that dies between sending and recording costs one more copy of that notice, and no other is lost or doubled', async () => {
  const reader = await makeReader(house)
  for (let n = 0; n < 3; n++) await writeNotice(house, reader)
  const started = Promise.withResolvers<GatewayProcess>()
  // A node may send before it has said that it is ready.
  server.verdict = async () => {
    if (server.shown.length < 2) return undefined
    const node = await started.promise
    node.kill('SIGKILL')
    await node.ended
    return undefined
  }
  const victim = await startGateway({
    DATABASE_URL: house.databaseUrl,
    SECRET_KEY: house.settings.SECRET_KEY,
    DATA_DIR: makeFolder(),
    SMTP_URL: server.url(),
    MAIL_FROM: from.address,
  })
  started.resolve(victim)
  await server.hasTaken(2)
  assert.equal((await victim.ended).signal, 'SIGKILL')
  const states = async () => (await noticesOf(house.gateway.context.db, reader)).map(({ state }) => state)
  assert.deepEqual(await states(), ['sent', 'waiting', 'waiting'])

  server.verdict = () => undefined
  const courier = openSmtp(serverAt(server.port), from)
  const later = { now: () => new Date(Date.now() + 2 * minute) }
  assert.deepEqual(await sendDue({ ...openPostDependencies(house, courier), clock: later }), {
    sent: 2,
    failed: 0,
  })
  courier.close()
  assert.deepEqual(await states(), ['sent', 'sent', 'sent'])
  const ids = server.taken.map(({ messageId }) => messageId)
  const copies = [...new Set(ids)].map((id) => ids.filter((each) => each === id).length)
  assert.deepEqual(copies, [1, 2, 1])
})

/**
 * Without a mail server each message is a whole file for its owner alone, and the folder does not grow
 * without end.
 */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { minute } from '../../src/clock.ts'
import { keptMessages, openOutbox } from '../../src/notices/outbox.ts'
import { sendDue } from '../../src/notices/post.ts'
import { eventually } from '../support/eventually.ts'
import { openHouse, openTestGateway } from '../support/gateway.ts'
import { parseMail } from '../support/mail-server.ts'
import { from, makeReader, noticesOf, openPostDependencies, writeNotice } from '../support/notices.ts'
import { makeFolder } from '../support/process.ts'

const house = await openHouse({ ROLES: 'api' })

const message = (id: number, at = new Date('2026-03-02T10:00:00Z')) => ({
  ...{
    id,
    at,
    key: `test:${id}`,
    to: 'ada@example.com',
    subject: 'Grüße',
    text: 'Hello Ada,\n\nit happened.\n',
  },
})

test('a message is a file that any mail program opens, and only its owner can read it', async () => {
  const folder = join(makeFolder(), 'outbox')
  assert.deepEqual(await openOutbox(folder, from).send(message(7)), { kind: 'sent' })
  const names = readdirSync(folder)
  assert.deepEqual(names, ['20260302T100000Z-00000007.eml'])
  const mail = parseMail(readFileSync(join(folder, names[0]!), 'utf8'))
  assert.deepEqual([mail.subject, mail.text], ['Grüße', 'Hello Ada,\n\nit happened.\n'])
  assert.ok(mail.headers.includes('To: ada@example.com'), mail.headers.join('\n'))
  assert.equal(statSync(join(folder, names[0]!)).mode & 0o777, 0o600)
  assert.equal(statSync(folder).mode & 0o777, 0o700)
})

test('the same message written twice is there once', async () => {
  const folder = join(makeFolder(), 'outbox')
  const outbox = openOutbox(folder, from)
  await outbox.send(message(7))
  await openOutbox(folder, from).send(message(7))
  assert.equal(readdirSync(folder).length, 1)
})

test('of more than a thousand messages the oldest go, and what is no message stays', async () => {
  const folder = join(makeFolder(), 'outbox')
  mkdirSync(folder)
  for (let n = 0; n < keptMessages + 5; n++)
    writeFileSync(join(folder, `20250101T000000Z-${String(n).padStart(8, '0')}.eml`), '')
  writeFileSync(join(folder, '00-notes.txt'), 'mine')
  await openOutbox(folder, from).send(message(1))
  const names = readdirSync(folder).sort()
  assert.equal(names.filter((name) => name.endsWith('.eml')).length, keptMessages)
  assert.equal(names[0], '00-notes.txt')
  assert.equal(names[1], '20250101T000000Z-00000006.eml')
  assert.equal(names.at(-1), '20260302T100000Z-00000001.eml')
})

test('a folder that cannot be written costs a wait, not the notice', async () => {
  const place = makeFolder()
  writeFileSync(join(place, 'outbox'), 'a file where the folder should be')
  chmodSync(join(place, 'outbox'), 0o400)
  const reader = await makeReader(house)
  await writeNotice(house, reader)
  assert.deepEqual(await sendDue(openPostDependencies(house, openOutbox(join(place, 'outbox'), from))), {
    sent: 0,
    failed: 1,
  })
  const [row] = await noticesOf(house.gateway.context.db, reader)
  assert.equal(row!.state, 'waiting')
  assert.match(row!.error!, /EEXIST|ENOTDIR/)
  house.clock.advance(minute)
  assert.deepEqual(await sendDue(openPostDependencies(house, openOutbox(join(place, 'elsewhere'), from))), {
    sent: 1,
    failed: 0,
  })
})

test('a gateway without a mail server writes what holders are told into DATA_DIR/outbox', async (t) => {
  const own = await openTestGateway()
  t.after(() => own.close())
  const reader = await makeReader(own)
  await own.signIn(reader)
  const folder = join(own.settings.DATA_DIR!, 'outbox')
  const { db } = own.gateway.context
  await eventually('it is sent', async () => (await noticesOf(db, reader))[0]?.state === 'sent')
  const [name] = readdirSync(folder)
  const mail = parseMail(readFileSync(join(folder, name!), 'utf8'))
  assert.equal(mail.subject, 'New sign-in to your account')
  assert.match(mail.text, /When: +2 March 2026, 10:00 UTC\n +From: +127\.0\.0\.1\n/)
  assert.ok(mail.text.includes(`sign in at ${own.baseUrl} and`))
})

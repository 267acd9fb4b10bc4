/** Credentials for the administration API, as operators make, list and revoke them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../../src/audit/audit.ts'
import { minute } from '../../../src/clock.ts'
import { listCredentials } from '../../../src/users/admin-credential.ts'
import { openAdminProgram } from '../../support/administration.ts'
import { send } from '../../support/browser.ts'
import { type ConsoleSession, openConsole } from '../../support/console.ts'
import { openHouse } from '../../support/gateway.ts'
import { makeUpWord } from '../../support/made-up-word.ts'
import { newCredential } from './staff-rows.ts'

const house = await openHouse()
const { db } = house.gateway.context
const here = '/console/credentials'

async function make({ browser, user }: ConsoleSession, fields: Record<string, string> = {}) {
  const page = await browser.get(here)
  const given = { ...newCredential(user.username), name: makeUpWord(), reason: 'A pipeline.', ...fields }
  return { name: given.name, answer: await browser.submit(page, `${here}/create`, given) }
}

const find = async (name: string) => (await listCredentials(db)).find((each) => each.name === name)

test('a credential is made with its readers, shown once with a button that copies it, and good at once', async () => {
  const boss = await openConsole(house, 'Ada Administrator')
  const reader = await house.makeOperator('Rita Reader', ['viewer'])
  const fields = { role: 'partner-manager', readers: reader.username, days: '30' }
  const { name, answer } = await make(boss, fields)
  assert.equal(answer.status, 200, answer.text)
  const [, secret] = /<code class="secret">(cslm[\w-]+)<\/code><button type="button" class="copy">/.exec(
    answer.text,
  )!
  const program = await openAdminProgram(house)
  const called = await send(`${program.url}/admin/v1/partners`, {
    headers: { authorization: `Bearer ${secret}` },
  })
  assert.equal(called.status, 200, called.text)
  const page = await boss.browser.get(here)
  assert.ok(!page.text.includes(secret!), 'it is not shown again')
  for (const word of [name, 'Rita Reader', 'Partner manager']) assert.ok(page.text.includes(word), word)
  const made = (await find(name))!
  assert.deepEqual([made.userId, made.readers], [boss.user.id, [reader.id]])
  const [entry] = await findEntries(db, { subject: `credential:${made.id}` })
  assert.deepEqual([entry!.actor, entry!.details.reason], [`user:${boss.user.id}`, 'A pipeline.'])
})

test('nobody is offered a role above their own, or makes one that has it; only who gives out roles makes any', async () => {
  const officer = await openConsole(house, 'Sean Security', ['security-officer'])
  const page = await officer.browser.get(here)
  const [, offered] = /<select[^>]* name="role"[^>]*>(.*?)<\/select>/s.exec(page.text)!
  assert.deepEqual(
    [...offered!.matchAll(/value="([^"]+)"/g)].map((each) => each[1]),
    ['viewer', 'security-officer'],
  )
  for (const role of ['administrator', 'support']) {
    const { name, answer } = await make(officer, { role })
    assert.equal(answer.status, 403, answer.text)
    assert.equal(await find(name), undefined)
  }
  const boss = await house.makeOperator('Bo Boss')
  const viewer = await house.makeOperator('Vic Viewer', ['viewer'])
  const lesser = await make(officer, { role: 'security-officer', person: viewer.username })
  assert.match(lesser.answer.text, /more than the person it is for/)
  assert.equal((await make(officer, { role: 'viewer', person: boss.username })).answer.status, 200)
  const auditor = await openConsole(house, 'Al Auditor', ['auditor'])
  const seen = await auditor.browser.get(here)
  assert.equal(seen.status, 200)
  assert.doesNotMatch(seen.text, /credentials\/(create|revoke)/)
})

test('what is typed wrongly is told by its field, and stays', async () => {
  const boss = await openConsole(house, 'Ada Administrator')
  const holder = await house.makeUser()
  for (const [fields, fault] of [
    [{ person: 'nobody-here' }, /nobody of them is called/],
    [{ person: holder.username }, /nobody of them is called/],
    [{ readers: holder.username }, /nobody of them is called/],
    [{ days: '401' }, /whole number from 1 to 400/],
    [{ name: ' ' }, /must have|is missing|must not/],
    [{ reason: '' }, /./],
  ] as const) {
    const { name, answer } = await make(boss, fields)
    assert.equal(answer.status, 400, `${JSON.stringify(fields)} ${answer.status}`)
    assert.match(answer.text, fault)
    assert.equal(await find(name), undefined)
  }
})

test('making one takes a fresh sign-in', async () => {
  const boss = await openConsole(house, 'Ada Administrator')
  const page = await boss.browser.get(here)
  house.clock.advance(10 * minute)
  const given = { ...newCredential(boss.user.username), name: makeUpWord(), reason: 'A pipeline.' }
  const answer = await boss.browser.submit(page, `${here}/create`, given)
  assert.equal(answer.status, 303)
  assert.match(answer.location!, /^\/login\?return=/)
  assert.equal(await find(given.name), undefined)
})

test('revoked, it is refused with its next request, and a second time changes nothing', async () => {
  const boss = await openConsole(house, 'Ada Administrator')
  const program = await openAdminProgram(house)
  assert.equal((await program.call('GET', '/admin/v1/partners')).status, 200)
  const page = await boss.browser.get(here)
  const fields = { credential: String(program.credentialId), reason: 'It leaked.' }
  for (const _ of [1, 2]) {
    const answer = await boss.browser.submit(page, `${here}/revoke`, fields)
    assert.equal(answer.status, 303, answer.text)
  }
  assert.equal((await program.call('GET', '/admin/v1/partners')).status, 401)
  const entries = await findEntries(db, {
    subject: `credential:${program.credentialId}`,
    action: 'credential.revoked',
  })
  assert.deepEqual(
    entries.map(({ details }) => details.reason),
    ['It leaked.'],
  )
})

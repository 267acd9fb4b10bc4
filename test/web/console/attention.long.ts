/**
 * The attention queue: what needs an operator, with its reason, its age and its acts, on the console's home.
 */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { day, hour, after as later, minute } from '../../../src/clock.ts'
import type { Database } from '../../../src/database/database.ts'
import type { Application } from '../../../src/partners/application-details.ts'
import { rotateSecret } from '../../../src/partners/client-secret.ts'
import { applyWithDetails, getPartner } from '../../../src/partners/partner.ts'
import { askForRefresh } from '../../../src/partners/refresh-request.ts'
import { askForScopes } from '../../../src/partners/scope-request.ts'
import { readConfig } from '../../../src/settings/config.ts'
import { listLockedPeople } from '../../../src/users/locked-people.ts'
import { getUserNamed, setUserStatus, type User } from '../../../src/users/user.ts'
import { findAttention } from '../../../src/web/console/overview/attention.ts'
import { PageForms } from '../../../src/web/frame/page-forms.ts'
import { readLaneStates } from '../../../src/webhooks/health/lane-state.ts'
import { assertAnswered } from '../../support/answers.ts'
import { ask } from '../../support/ask.ts'
import { failDeliveries } from '../../support/by-hand.ts'
import { failCalls } from '../../support/calls.ts'
import { makeCertificate } from '../../support/certificate.ts'
import { type ConsoleSession, openConsole } from '../../support/console.ts'
import { followByHand } from '../../support/follow.ts'
import { openTestGateway, operator, type TestGateway } from '../../support/gateway.ts'
import { importLines } from '../../support/imports.ts'
import { openLenientDatabase } from '../../support/lenient-database.ts'
import { makeUpWord } from '../../support/made-up-word.ts'
import { type Looks, openLookingDatabase } from '../../support/plans.ts'
import { openPartner } from '../../support/portal.ts'
import { makeFolder } from '../../support/process.ts'
import { nameSource } from '../../support/provisioning.ts'
import { makeGuardedUser } from '../../support/second-factor.ts'
import { guess } from '../../support/web.ts'

const keys = [randomBytes(32), randomBytes(32)].map((key) => key.toString('hex'))

let house: TestGateway
let db: Database
let olga: ConsoleSession
before(async () => {
  house = await openTestGateway({ SECRET_KEY: keys[0]! })
  db = house.gateway.context.db
  olga = await openConsole(house)
})
after(() => house?.close())

const application: Application = {
  website: 'https://app.example.com',
  contact: 'dev@app.example.com',
  purpose: 'Portfolios for <everybody>.',
}

async function apply(name: string, at = house.clock.now()) {
  await applyWithDetails(db, await house.makeUser(), { name, ...application }, { by: operator, at })
  return getPartner(db, name)
}

async function home(query = ''): Promise<string> {
  const page = await olga.browser.get(`/console${query}`)
  assert.equal(page.status, 200, page.text)
  return page.text
}

/** The rows of the queue, each as its text. */
async function rows(): Promise<string[]> {
  const [, list = ''] = /<ol class="tokens attention">([\s\S]*?)<\/ol>/.exec(await home()) ?? []
  return list
    .split('<li>')
    .slice(1)
    .map((row) =>
      row
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
}

/** Sends one of the queue's forms as it stands there. */
async function press(action: string, fields: Record<string, string> = {}) {
  return olga.browser.submit(await olga.browser.get('/console'), action, fields)
}

const secretsOf = (env: NodeJS.ProcessEnv) => readConfig({ ...house.settings, ...env })
/** Who sees everything. */
const everything = { forms: new PageForms('', {}), may: () => true }
/** As the page has read them for its counts. */
const lanes = () => readLaneStates(db, house.clock.now())
const attentionWith = (env: NodeJS.ProcessEnv) =>
  findAttention({
    db,
    config: secretsOf(env),
    vault: house.gateway.context.vault,
    operator: everything,
    now: house.clock.now(),
    lanes,
  })

test('an empty queue says so', async () => {
  assert.match(await home(), /Nothing waits for an operator, and nothing is about to end\./)
})

test('the most urgent comes first, of those what waits longest, each with its reason, age and acts', async () => {
  const now = house.clock.now()
  const own = await openPartner(house)
  await apply('Second Desk', later(now, -2 * hour))
  await apply('First Desk', later(now, -3 * day))
  const asking = await house.makePartner({ refresh: false })
  await askForRefresh(db, asking, 'long evenings', { by: operator, at: later(now, -hour) })
  await askForScopes(db, own.client, { wider: 'trade', reason: 'orders' }, { by: operator, at: now }).catch(
    () => {},
  )
  const webhook = await own.program.register('https://failing.example/hooks')
  await failDeliveries(house, webhook, { failures: 12, since: later(now, -hour), entities: 3 })
  await failCalls(house, own.partner.branchId, 60)
  const locked = await house.makeUser()
  await setUserStatus(db, locked, 'disabled', { by: operator, at: now })
  const found = await rows()
  assert.deepEqual(
    found.map((row) => row.split(' ').slice(0, 4).join(' ')),
    [
      'Failing webhook https://failing.example/hooks for',
      `Failed API calls ${own.partner.name.split(' ')[0]}`,
      'Application First Desk applied',
      'Application Second Desk applied',
      `Refresh access ${asking.name}`,
      'Locked Ada Holder locked',
    ],
  )
  assert.match(found[0]!, /for 1 h .*: 12 attempts in a row failed; one retry a minute\. See why .* Pause/)
  assert.match(found[1]!, /60 failed API calls in the last hour \(of those kept\)\. See why/)
  assert.match(
    found[2]!,
    /applied 3 d ago Needs your decision\. “Portfolios for &lt;everybody&gt;\.” Decide .*Approve.*Reason to decline.*Decline/,
  )
  assert.match(found[4]!, /asked 1 h ago Needs your decision\. “long evenings” Grant .* Decline/)
  assert.match(found[5]!, /Locked by an operator, not by the brokerage’s own system.* Unlock/)
})

test('what fails in the sandbox is its partner’s to mend: the queue counts it, and what is live comes first', async () => {
  const before = await rows()
  const { partner } = await openPartner(house)
  const url = `https://${makeUpWord().toLowerCase()}.example/hooks`
  const [webhook] = await ask<{ id: number }>(
    db,
    `INSERT INTO webhooks (branch_id, environment, url, kinds, created_at, updated_at)
     VALUES ($1, 'sandbox', $2, ARRAY['TRANSACTION'], $3, $3) RETURNING id`,
    [partner.branchId, url, house.clock.now()],
  )
  await db.script(followByHand)
  const since = later(house.clock.now(), -hour)
  await failDeliveries(house, webhook!.id, { failures: 12, since, entities: 3 })
  assert.deepEqual(await rows(), before)
  assert.match(await home(), /1 webhook is failing<\/a>\. Their partners see why\./)
  const all = await olga.browser.get('/console/webhooks?site=sandbox&condition=needs+attention')
  assert.ok(all.text.includes(url))

  const inSandbox = await house.makeClient({ environment: 'sandbox' })
  const asked = { by: operator, at: later(house.clock.now(), -9 * day) }
  await ask(db, `UPDATE clients SET scopes_at_most = ARRAY['read'], scopes = ARRAY['read'] WHERE id = $1`, [
    inSandbox.id,
  ])
  await askForScopes(
    db,
    { ...inSandbox, scopesAtMost: ['read'], scopes: ['read'] },
    { wider: 'trade', reason: 'to try' },
    asked,
  )
  const last = (await rows()).at(-1)!
  assert.match(last, /^Wider scopes .* \(sandbox\): “to try”/, 'however long it waits')
  await ask(db, 'DELETE FROM scope_requests WHERE client_id = $1', [inSandbox.id])
})

test('acts of the queue lead back to it, and it says what was done to whom', async () => {
  const { branchId } = await getPartner(db, 'First Desk')
  const at = `/console/partners/${branchId}`
  const approved = await press(`${at}/approve`)
  assert.equal(approved.location, '/console')
  const told = await assertAnswered(olga.browser, approved)
  assert.match(told.text, /^First Desk: The partner is approved\./)
  assert.equal(told.link, at)
  assert.equal((await getPartner(db, 'First Desk')).status, 'approved')
  const other = await getPartner(db, 'Second Desk')
  const declined = await press(`/console/partners/${other.branchId}/decline`, {
    reason: 'We know too little.',
  })
  assert.equal(declined.status, 303)
  assert.equal((await getPartner(db, 'Second Desk')).statusReason, 'We know too little.')
  const empty = await olga.browser.submit(await olga.browser.get(at), `${at}/suspend`, {
    reason: ' ',
    from: 'queue',
  })
  assert.equal(empty.status, 400, 'without a reason nothing is declined')
  assert.ok(!(await rows()).some((row) => row.startsWith('Application')))
})

test('an address puts no words into the queue', async () => {
  for (const query of [
    '?done=approved&about=%3Cb%3E',
    '?done=approved&about=branch:99999999999',
    '?done=constructor&about=user:x',
    '?done=a&done=b',
  ])
    assert.doesNotMatch(await home(query), /class="notice success|<b>/, query)
})

test('of each kind a few are shown, and the others are counted up to a bound', async () => {
  await db.script(
    `INSERT INTO partners (name, status, created_at, updated_at) SELECT 'Crowd ' || n, 'applied', now(), now()
      FROM generate_series(1, 42) n`,
  )
  assert.match(await home(), /<a href="\/console\/partners\?state=applied">and 37 more applications<\/a>/)
  await db.script(
    `INSERT INTO partners (name, status, created_at, updated_at)
      SELECT 'Throng ' || n, 'applied', now(), now() FROM generate_series(1, 500) n`,
  )
  const page = await home()
  assert.match(page, /and at least 100 more applications/)
  assert.equal(page.match(/Crowd \d/g)?.length, page.match(/Crowd [1-5]\b/g)?.length)
  await db.script(`UPDATE partners SET status = 'suspended' WHERE status = 'applied'`)
})

test('who cannot sign in is in the queue as long as that lasts: locked, guessed at, or with a locked app', async () => {
  const now = () => house.clock.now()
  const isIn = async (reason: 'locked' | 'app locked' | 'must wait', id: string) =>
    (await listLockedPeople(db, reason, now(), 100)).some(({ userId }) => userId === id)
  const user = await house.makeUser()
  await setUserStatus(db, user, 'disabled', house.act())
  assert.ok(await isIn('locked', user.id))
  const unlocked = await press(`/console/users/${user.id}/unlock`)
  assert.equal((await assertAnswered(olga.browser, unlocked)).link, `/console/users/${user.id}`)
  assert.ok(!(await isIn('locked', user.id)))

  const guessed = await house.makeUser()
  for (let time = 0; time < 5; time++) await guess(house, guessed.username)
  assert.ok(await isIn('must wait', guessed.id))
  await press(`/console/users/${guessed.id}/throttle/lift`)
  assert.ok(!(await isIn('must wait', guessed.id)))
  for (let time = 0; time < 5; time++) await guess(house, guessed.username)
  house.clock.advance(2 * minute)
  await house.signIn(guessed)
  assert.ok(!(await isIn('must wait', guessed.id)), 'whoever gets in waits no more')
  // Nobody is named by guesses at a name that nobody has.
  for (let time = 0; time < 6; time++) await guess(house, `nobody-${makeUpWord()}`)

  const { user: guarded } = await makeGuardedUser(house)
  await db.script(
    `UPDATE totp_factors SET locked_at = now(), wrong_in_a_row = 100 WHERE user_id = '${guarded.id}'`,
  )
  assert.ok(await isIn('app locked', guarded.id))
  assert.match((await rows()).join('\n'), /^Authenticator locked Ada Holder/m)
  const [, reset] = /href="([^"]+)">Reset two-factor…/.exec(await home())!
  assert.equal(reset, `/console/users/${guarded.id}#two-factor`)
  assert.match((await olga.browser.get(reset!)).text, /id="two-factor"[\s\S]*factors\/reset"/)
  await db.script(`DELETE FROM totp_factors WHERE user_id = '${guarded.id}'`)
  assert.ok(!(await isIn('app locked', guarded.id)))
})

test('what ends soon is told before it does: a secret in use, a certificate, a rotation that nobody finished', async () => {
  const now = house.clock.now()
  const client = await house.makeClient()
  const rotation = { overlapMs: 2 * day }
  await rotateSecret(db, house.gateway.context.vault, client, rotation, { by: operator, at: now })
  const told = async (env: NodeJS.ProcessEnv = {}) =>
    (await attentionWith(env)).rows
      .map(({ kind, urgency }) => `${kind} ${urgency}`)
      .filter((row) => !/^(Failing|Failed|Locked|Refresh)/.test(row))
  assert.deepEqual(await told(), [], 'nobody uses it any more')
  await ask(
    db,
    'UPDATE client_secrets SET last_used_at = $2 WHERE client_id = $1 AND expires_at IS NOT NULL',
    [client.id, now],
  )
  assert.deepEqual(await told(), ['Client secret soon'])
  const [, link] = /href="([^"]+)">See the client/.exec(await home())!
  assert.match((await olga.browser.get(link!)).text, new RegExp(`id="${link!.split('#')[1]}"`))
  house.clock.advance(1.5 * day)
  await ask(
    db,
    'UPDATE client_secrets SET last_used_at = $2 WHERE client_id = $1 AND expires_at IS NOT NULL',
    [client.id, house.clock.now()],
  )
  assert.deepEqual(await told(), ['Client secret now'])
  house.clock.advance(day)

  const folder = makeFolder()
  const endingIn = (ms: number) => {
    const { cert, key } = makeCertificate(['gateway.example'], later(now, -day), later(house.clock.now(), ms))
    writeFileSync(join(folder, 'cert.pem'), cert)
    writeFileSync(join(folder, 'key.pem'), key)
    return { TLS_CERT_FILE: join(folder, 'cert.pem'), TLS_KEY_FILE: join(folder, 'key.pem') }
  }
  assert.deepEqual(await told(endingIn(30 * day)), [])
  const { rows: found } = await attentionWith(endingIn(2 * day))
  assert.ok(
    found.every(({ acts }) => acts),
    'every row has something to do next',
  )
  assert.deepEqual(await told(endingIn(20 * day)), ['Certificate soon'])
  assert.deepEqual(await told(endingIn(2 * day)), ['Certificate now'])
  assert.deepEqual(await told(endingIn(-day)), ['Certificate now'])
})

test('a second sealing key is told of until it is gone', async () => {
  const two = await openTestGateway({ SECRET_KEY: keys.join(',') })
  const admin = await openConsole(two)
  assert.match((await admin.browser.get('/console')).text, /2 keys are in use[\s\S]*>See the rotations</)
  await two.close()
})

test('why webhooks fail is asked of those that are shown, however many fail', async () => {
  const own = await openPartner(house)
  const since = later(house.clock.now(), -day)
  for (let n = 0; n < 7; n++) {
    const webhook = await own.program.register(`https://failing.example/${n}`)
    await failDeliveries(house, webhook, { failures: 12, since })
  }
  let asked = 0
  const query: Database['query'] = (statement, ...values) => {
    const [named] = values as [{ webhookIds: readonly number[] }?]
    if (statement.name === 'select_webhook_failures') asked += named!.webhookIds.length
    return db.query(statement, ...values)
  }
  const { config, vault } = house.gateway.context
  const now = house.clock.now()
  const found = await findAttention({ db: { ...db, query }, config, vault, operator: everything, now, lanes })
  assert.equal(asked, 5)
  assert.ok(found.more.some(({ plural, count }) => plural === 'failing webhooks' && count >= 2))
})

test('the queue is found by indexes, however many people, partners and entries there are', async () => {
  // Without the limits of the gateway's own connections: it takes as long as the machine needs.
  const lenient = openLenientDatabase({ connectionString: house.databaseUrl, connections: 2 })
  await lenient.script(`
    INSERT INTO users (id, username, name, password_hash, created_at, updated_at)
      SELECT 'id-' || lpad(n::text, 12, '0'), 'crowd-' || n, 'One of many', '', now(), now()
        FROM generate_series(1, 20000) n;
    INSERT INTO partners (name, status, created_at, updated_at) SELECT 'Many ' || n, 'approved', now(), now()
      FROM generate_series(1, 20000) n;
    INSERT INTO audit_entries (at, actor, action, subject, details)
      SELECT now(), 'gateway', 'token.refreshed', 'user:x', '{}' FROM generate_series(1, 20000);
    INSERT INTO webhooks (branch_id, environment, url, kinds, created_at, updated_at)
      SELECT (SELECT max(branch_id) FROM partners), 'live', 'https://a.example/' || n, ARRAY['TRANSACTION'],
        now(), now() FROM generate_series(1, 5000) n;
    ${followByHand}
    ANALYZE`)
  const looks: Looks = new Map()
  const looking = await openLookingDatabase(lenient, looks)
  const { config, vault } = house.gateway.context
  const now = house.clock.now()
  await findAttention({ db: looking, config, vault, operator: everything, now, lanes })
  await lenient.close()
  assert.ok(looks.size >= 7, `${looks.size} statements`)
  const large = ['users', 'partners', 'audit_entries', 'webhooks', 'cursors']
  for (const [name, { readWhole, rows: touched }] of looks) {
    assert.deepEqual(
      large.filter((table) => readWhole.has(table)),
      [],
      name,
    )
    assert.ok(touched < 2_000, `${name}: ${touched} rows`)
  }
})

test('whom the source disabled or removed is nobody’s lock: thousands of them bury none of an operator, and pages say who it was', async () => {
  const now = () => house.clock.now()
  const source = await nameSource(house)
  const { browser } = await openConsole(house)
  const people = (from: number, to: number, more: object) =>
    Array.from({ length: to - from }, (_, n) => ({ kind: 'customer', externalId: `C${from + n}`, ...more }))
  await importLines(house, source, people(0, 300, { name: 'Gone', version: 1 }))
  await importLines(house, source, [
    ...people(0, 150, { name: 'Gone', version: 2, status: 'disabled' }),
    ...people(150, 299, { op: 'remove', version: 2 }),
    { kind: 'customer', externalId: 'NEW', name: 'Gone', version: 2, status: 'disabled' },
  ])
  const find = async (id: string) => getUserNamed(db, `${source}:${id}`)
  const listed = async () => (await listLockedPeople(db, 'locked', now(), 1_000)).map(({ name }) => name)
  assert.ok(!(await listed()).includes('Gone'))
  const [disabled, removed, held] = [await find('c0'), await find('c150'), await find('c299')]
  const listedUsers = async (query: string) => (await browser.get(`/console/users?${query}`)).text
  assert.doesNotMatch(await listedUsers('state=locked'), /Gone/)
  assert.ok((await listedUsers(`state=disabled&q=${source}:c0`)).includes(disabled.id))
  assert.ok(!(await listedUsers(`state=disabled&q=${source}:c150`)).includes(removed.id))
  assert.ok((await listedUsers(`state=removed&q=${source}:c150`)).includes(removed.id))
  assert.deepEqual([disabled.lockedBy, removed.lockedBy, held.lockedBy], ['source', 'removal', null])
  const page = async ({ id }: User) => (await browser.get(`/console/users/${id}`)).text
  assert.match(
    await page(disabled),
    /disabled by source[\s\S]*Disabled by your own system[\s\S]*No operator has locked them out/,
  )
  assert.match(await page(removed), /removed by source[\s\S]*Removed by your own system/)
  assert.doesNotMatch(await page(disabled), /Locked out: nobody/)
  await setUserStatus(db, disabled, 'disabled', { by: operator, at: now() })
  await setUserStatus(db, held, 'disabled', { by: operator, at: now() })
  assert.equal((await listed()).filter((name) => name === 'Gone').length, 2)
  assert.match(await page(disabled), /Locked out: nobody/)
  await importLines(house, source, people(299, 300, { name: 'Gone', version: 3, status: 'disabled' }))
  assert.equal(
    (await listed()).filter((name) => name === 'Gone').length,
    2,
    'a lock that both have is still an operator’s',
  )
  await importLines(house, source, [
    { kind: 'customer', externalId: 'C0', name: 'Gone', version: 3 },
    { kind: 'customer', externalId: 'C299', name: 'Gone', version: 4 },
  ])
  for (const user of [disabled, held]) await setUserStatus(db, user, 'active', { by: operator, at: now() })
  assert.ok(!(await listed()).includes('Gone'))
})

/**
 * A new identity provider in the console: what is wrong with it is told, it is tested, and nobody signs in
 * there before it is enabled.
 */

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { second } from '../../../src/clock.ts'
import { findProvider, getProvider, readCredential } from '../../../src/identity/provider.ts'
import { listRolesIn } from '../../../src/users/staff-role.ts'
import { toldBy } from '../../support/answers.ts'
import { ask } from '../../support/ask.ts'
import { Browser } from '../../support/browser.ts'
import { openConsole, press } from '../../support/console.ts'
import { openHouse } from '../../support/gateway.ts'
import { keepOpen } from '../../support/keep-open.ts'
import { makeUpWord } from '../../support/made-up-word.ts'
import { clientSecret, openUpstream } from '../../support/upstream.ts'
import { pathOf, tokenOf } from '../../support/web.ts'
import { newProvider } from './provider-rows.ts'

const house = await openHouse({ HOLDER_SIGN_IN: 'both' })
const { db, vault } = house.gateway.context
const officer = await openConsole(house, 'Otto Officer', ['security-officer'])
const { browser } = officer

async function save(fields: Record<string, string>, from = browser) {
  const page = await from.get('/console/providers/new')
  return from.submit(page, '/console/providers/new/create', fields)
}

test('a provider is saved, tested and enabled: only then can anybody sign in there', async () => {
  const name = makeUpWord()
  const upstream = await keepOpen(openUpstream(house, { name, people: {} }))
  const saved = await save({
    ...newProvider(name),
    label: `Bank ${name}`,
    issuer: upstream.issuer,
    secret: clientSecret,
    untested: '',
  })
  assert.equal(saved.location, `/console/providers/${name}`, saved.text)
  const page = await browser.get(saved.location!)
  assert.equal(
    toldBy(page)!.text,
    'The identity provider answers as it should, and is saved. Register its addresses there, then enable it.',
  )
  assert.ok(!page.text.includes(clientSecret))
  assert.match(page.text, /Nobody signs in at Bank \w+ yet\. No customer is linked to it\.</)
  for (const [site, url] of Object.entries({ live: house.baseUrl, sandbox: house.sandboxUrl }))
    assert.match(
      page.text,
      new RegExp(`Redirect URI, ${site}</dt><dd class="break"><code>${url}/login/from/${name}<`),
    )
  const stranger = () => new Browser(house.baseUrl)
  const isOffered = async () => (await stranger().get('/login')).text.includes(`Bank ${name}`)
  assert.equal(await isOffered(), false)
  for (const path of [`/login/with/${name}`, `/login/from/${name}?code=x&state=y`])
    assert.equal((await stranger().get(path)).status, 404, path)
  assert.match(
    (await browser.get(`${saved.location}/test`)).text,
    /It knows this client and its credential\./,
  )
  assert.match((await browser.get('/console/providers')).text, /not enabled/)
  const enabled = await press(browser, saved.location!, '/enable')
  assert.equal(toldBy(await browser.get(pathOf(enabled)))!.text, `Bank ${name} is enabled.`)
  assert.equal(await isOffered(), true)
  const removal =
    /is signed out at once, and nobody can sign in there any more\. No customer is linked to it\.</
  assert.match((await browser.get(saved.location!)).text, removal)
  const again = await browser.post(`${saved.location}/enable`, { csrf: await tokenOf(browser) })
  assert.match(toldBy(await browser.get(pathOf(again)))!.text, /^Nothing was changed/)
})

test('issuer, client id and secret are enough, and what a sign-in would fail by is told before it is saved', async () => {
  const upstream = await keepOpen(openUpstream(house, { name: 'by-itself', people: {} }))
  const three = {
    kind: 'staff',
    issuer: upstream.issuer,
    'client-id': 'countersign',
    proof: 'client_secret_basic',
  }
  const wrong = await save({ ...three, secret: 'hunter2-typed', 'own-step': 'yes' })
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /id="client-id-problem">It does not accept the client id with this credential/)
  assert.match(wrong.text, /Test: it failed\. Tick this to save it anyway\./)
  assert.ok(!wrong.text.includes('hunter2-typed'))
  const away = await save({ ...three, issuer: 'https://127.0.0.1:9', secret: 'x' })
  assert.match(away.text, /id="issuer-problem">[^<]+127\.0\.0\.1/)
  const kept = () => ask<{ kept: number }>(db, 'SELECT count(*)::int AS kept FROM provider_documents')
  const [before] = await kept()
  const saved = await save({ ...three, secret: clientSecret })
  assert.equal(saved.status, 303, saved.text)
  const provider = await getProvider(db, saved.location!.split('/').at(-1)!)
  assert.deepEqual(
    [provider.name, provider.label, provider.enabledAt, provider.linkSource],
    ['127-0-0-1', '127.0.0.1', null, 'core'],
  )
  assert.deepEqual(await kept(), [before], 'nothing that a draft says is kept')
})

test('a preset fills in what its provider is known for, and everything can be changed', async () => {
  const page = async (query: string) => (await browser.get(`/console/providers/new?${query}`)).text
  const keycloak = await page('kind=staff&preset=keycloak')
  assert.match(keycloak, /name="issuer" value="https:\/\/HOST\/realms\/REALM"/)
  assert.match(keycloak, /name="roles-claim" value="roles"/)
  assert.match(keycloak, /value="person" selected/)
  assert.match(await page('kind=holder&preset=okta'), /name="roles-claim" value=""/)
  assert.match(await page('kind=holder&preset=okta'), /name="strong-amr" value="mfa"/)
  assert.match(await page('preset=google'), /value="https:\/\/accounts\.google\.com"/)
  for (const other of ['preset=__proto__', 'preset=constructor', 'kind=everybody', 'preset=%3Cb%3E'])
    assert.match(await page(other), /name="issuer" value=""/, other)
})

test('what is wrong is told beside its field, with the remedy, and the secret never comes back', async () => {
  const wrong = {
    ...newProvider('new'),
    ...{
      issuer: 'ftp://login.example.com',
      'link-claim': 'email',
      'roles-claim': 'groups',
      secret: 'hunter2-typed',
    },
  }
  const refused = await save(wrong)
  assert.equal(refused.status, 400)
  for (const [field, words] of Object.entries({
    name: 'It must be another word',
    issuer: 'It must begin with https://',
    'link-claim': 'It must not be an e-mail address or a name',
    'roles-claim': 'It is for staff',
  }))
    assert.match(refused.text, new RegExp(`id="${field}-problem">${words}`), field)
  assert.ok(
    refused.text.includes('value="ftp://login.example.com"') && !refused.text.includes('hunter2-typed'),
  )
  const key = await save({ ...newProvider(), proof: 'private_key_jwt', 'secret-key': 'hunter2-no-key' })
  assert.match(key.text, /id="secret-key-problem">It must be a private key in PEM/)
  assert.ok(!key.text.includes('hunter2-no-key'))
  for (const fields of [{ kind: 'everybody' }, { proof: 'none' }])
    assert.equal((await save({ ...newProvider(), ...fields })).status, 400)
  const taken = newProvider()
  assert.equal((await save(taken)).status, 303)
  assert.match((await save(taken)).text, /id="name-problem">It is taken/)
})

test('every field of the form is kept as it was typed, and the key is sealed', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const name = makeUpWord()
  const saved = await save(
    {
      ...newProvider(name),
      ...{ kind: 'staff', proof: 'private_key_jwt', secret: '', 'secret-key': pem, scopes: 'profile groups' },
      ...{ 'strong-acr': 'urn:two', 'strong-amr': 'mfa  hwk', 'own-step': 'no', 'roles-claim': 'roles' },
      role: 'Countersign.Admin=administrator\r\n CN=Help,OU=Desk = support\r\n',
    },
    (await openConsole(house)).browser,
  )
  assert.equal(saved.status, 303, saved.text)
  const provider = await getProvider(db, name)
  assert.deepEqual(
    [provider.scopes, provider.strongAcr, provider.strongAmr, provider.ownSecondStep, provider.rolesClaim],
    [['openid', 'profile', 'groups'], ['urn:two'], ['mfa', 'hwk'], false, 'roles'],
  )
  assert.deepEqual(provider.roleMap, { 'Countersign.Admin': 'administrator', 'CN=Help,OU=Desk': 'support' })
  assert.equal((await readCredential(db, vault, provider)).credential.trim().replaceAll('\r', ''), pem.trim())
  const dump = await ask<{ row: string }>(
    db,
    `SELECT p::text AS row FROM identity_providers p UNION ALL SELECT e::text FROM audit_entries e UNION ALL
        SELECT s::text FROM submissions s`,
  )
  const line = pem.split('\n')[1]!
  assert.ok(!dump.some(({ row }) => row.includes(line)), 'the key stands nowhere in clear')
})

test('a provider that is not enabled changes nothing for anybody who signs in with a password', async () => {
  const other = await openHouse()
  const admin = await openConsole(other)
  for (const kind of ['holder', 'staff'])
    assert.equal(
      (
        await save(
          { ...newProvider(), kind, 'link-claim': kind === 'holder' ? 'customer_id' : '' },
          admin.browser,
        )
      ).status,
      303,
    )
  const login = await new Browser(other.baseUrl).get('/login?return=%2Fconsole')
  assert.match(login.text, /name="password"/)
})

const pageOf = (name: string) => `/console/providers/${name}`
const newSecret = (secret: string) => ({ proof: 'client_secret_basic', secret })

test('a new credential is given on the page of the provider, which tells to test it, and stays what it was until then', async () => {
  const name = makeUpWord()
  const upstream = await keepOpen(openUpstream(house, { name, people: {} }))
  await save({
    ...newProvider(name),
    label: `Bank ${name}`,
    issuer: upstream.issuer,
    secret: 'one that has run out',
  })
  await press(browser, pageOf(name), '/enable')
  assert.match((await browser.get(`${pageOf(name)}/test`)).text, /It does not accept the client id/)
  const given = await press(browser, pageOf(name), '/credential', newSecret(clientSecret))
  assert.equal(given.location, pageOf(name), given.text)
  const told = toldBy(await browser.get(pathOf(given)))!
  assert.equal(told.text, `The credential of Bank ${name} is replaced. Test whether the provider takes it.`)
  assert.match((await browser.get(told.link!)).text, /It knows this client and its credential\./)
  const provider = (await findProvider(db, name))!
  assert.deepEqual(await readCredential(db, vault, provider), {
    proof: 'client_secret_basic',
    credential: clientSecret,
  })
})

test('the form of a new credential offers how the provider is asked today, and what is wrong is told beside its field', async () => {
  const fields = { ...newProvider(), proof: 'client_secret_post' }
  await save(fields)
  const page = pageOf(fields.name)
  assert.match((await browser.get(page)).text, /<option value="client_secret_post" selected>/)
  const replace = (typed: Record<string, string>) => press(browser, page, '/credential', typed)
  const noKey = await replace({
    proof: 'private_key_jwt',
    'secret-key': 'hunter2-no-key',
    secret: 'hunter2-typed',
  })
  assert.equal(noKey.status, 400)
  assert.match(noKey.text, /id="secret-key-problem">It must be a private key in PEM/)
  assert.match(noKey.text, /<option value="private_key_jwt" selected>/)
  assert.doesNotMatch(noKey.text, /hunter2/)
  assert.match((await replace(newSecret(' '))).text, /id="secret-problem">It is missing\./)
  assert.match(
    (await replace({ proof: 'none', secret: 'x' })).text,
    /id="proof-problem">It must be one of the list/,
  )
  const { credential } = await readCredential(db, vault, await getProvider(db, fields.name))
  assert.equal(credential, fields.secret)
})

test('a form that lets nobody prove a second factor says which fields would', async () => {
  const refused = await save({ ...newProvider(), 'own-step': 'no' })
  assert.match(
    refused.text,
    /id="strong-acr-problem">It is missing: .* Name acr or amr values that mean one, or let/,
  )
})

test('where enabling takes two, a new credential takes one, and what was proposed before it counts no more', async () => {
  const two = await openHouse({ FOUR_EYES: 'provider.add' })
  const [maker, checker] = [await openConsole(two, 'Mary Maker'), await openConsole(two, 'Charlie Checker')]
  const fields = newProvider()
  const page = pageOf(fields.name)
  await save(fields, maker.browser)
  const proposed = await press(maker.browser, page, '/enable')
  two.clock.advance(second)
  assert.equal((await press(maker.browser, page, '/credential', newSecret('another'))).location, page)
  assert.match(
    (await checker.browser.get(proposed.location!)).text,
    /Something has changed since it was proposed/,
  )
  const forced = await checker.browser.post(`${proposed.location}/approve`, {
    csrf: await tokenOf(checker.browser),
  })
  assert.equal(forced.status, 303)
  assert.match((await checker.browser.get(proposed.location!)).text, /out of date/)
  assert.equal(await findProvider(two.gateway.context.db, fields.name), undefined)
})

test('where it takes two, enabling is proposed with exactly what is set up, and another enables it', async () => {
  const two = await openHouse({ FOUR_EYES: 'provider.add' })
  const [maker, checker] = [
    await openConsole(two, 'Mary Maker', ['security-officer']),
    await openConsole(two, 'Charlie Checker'),
  ]
  const fields = newProvider()
  const page = `/console/providers/${fields.name}`
  assert.equal((await save(fields, maker.browser)).location, page)
  const proposed = await press(maker.browser, page, '/enable')
  assert.match(proposed.location!, /^\/console\/proposals\/\d+$/)
  const shown = await checker.browser.get(proposed.location!)
  assert.match(
    shown.text,
    new RegExp(`Add identity provider[\\s\\S]*&quot;issuer&quot;: &quot;${fields.issuer}&quot;`),
  )
  assert.ok(!shown.text.includes(fields.secret))
  assert.match((await checker.browser.get(page)).text, /proposed by Mary Maker, waits for a second person/)
  const inTwo = two.gateway.context.db
  const forced = await maker.browser.post(`${proposed.location}/approve`, {
    csrf: await tokenOf(maker.browser),
  })
  assert.equal(forced.status, 403)
  assert.equal(await findProvider(inTwo, fields.name), undefined)
  assert.equal((await press(checker.browser, proposed.location!, '/approve')).status, 303)
  assert.ok(await findProvider(inTwo, fields.name))
})

const staffFields = (name = makeUpWord()) => ({
  ...newProvider(name),
  ...{ kind: 'staff', 'roles-claim': 'groups', role: 'audit=auditor\ndesk=support' },
})

test('a provider is changed on its page: what was typed comes back with a fault, and what is not changed stays', async () => {
  const boss = await openConsole(house, 'Ada Administrator')
  const fields = staffFields()
  const page = pageOf(fields.name)
  await save(fields, boss.browser)
  await press(boss.browser, page, '/enable')
  const before = await getProvider(db, fields.name)
  const provided = await house.makeOperator('Provided', [])
  const give = 'INSERT INTO staff_roles (user_id, role, source, given_at) VALUES ($1, $2, $3, $4)'
  for (const role of ['auditor', 'support'])
    await ask(db, give, [provided.id, role, `provider:${before.id}`, house.clock.now()])
  const shown = await boss.browser.get(page)
  assert.match(shown.text, /<textarea[^>]*name="role"[^>]*>audit=auditor\ndesk=support<\/textarea>/)
  const refused = await boss.browser.submit(shown, `${page}/change`, {
    label: 'Renamed',
    'link-claim': 'customer_id',
  })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /id="link-claim-problem">It is for holders/)
  assert.match(refused.text, /name="label"[^>]*value="Renamed"/)
  const change = { label: 'Renamed', role: 'audit=auditor', 'client-id': 'other', 'logout-ends': 'person' }
  const changed = await boss.browser.submit(await boss.browser.get(page), `${page}/change`, change)
  assert.equal(toldBy(await boss.browser.get(pathOf(changed)))!.text, `${before.label} is changed. Test it.`)
  const after = { label: 'Renamed', roleMap: { audit: 'auditor' }, clientId: 'other', logoutEnds: 'person' }
  assert.deepEqual(await getProvider(db, fields.name), { ...before, ...after })
  assert.deepEqual(
    await listRolesIn(db, provided.id, before.id),
    ['auditor'],
    'what is mapped no more is taken at once',
  )
  const again = await boss.browser.submit(await boss.browser.get(page), `${page}/change`, change)
  assert.match(toldBy(await boss.browser.get(pathOf(again)))!.text, /^Nothing was changed/)
})

test('nobody changes a provider into one that hands out more than they hold, nor one that does already', async () => {
  const boss = await openConsole(house, 'Ada Administrator')
  const own = newProvider()
  await save(own)
  await press(browser, pageOf(own.name), '/enable')
  const page = await browser.get(pageOf(own.name))
  const raised = await browser.submit(page, `${pageOf(own.name)}/change`, { 'link-claim': 'customer_id' })
  assert.equal(raised.status, 403)
  assert.match(raised.text, /You may not set a link claim/)
  const fields = staffFields()
  await save(fields, boss.browser)
  assert.match((await browser.get(pageOf(fields.name))).text, /You may not map the role/)
  const forced = { ...fields, csrf: await tokenOf(browser), role: 'audit=administrator' }
  assert.equal((await browser.post(`${pageOf(fields.name)}/change`, forced)).status, 403)
  assert.deepEqual((await getProvider(db, fields.name)).roleMap, { audit: 'auditor', desk: 'support' })
})

test('where adding takes two, so does a change of what is believed; a name, or fewer roles, takes one', async () => {
  const two = await openHouse({ FOUR_EYES: 'provider.add' })
  const [maker, checker] = [await openConsole(two, 'Mary Maker'), await openConsole(two, 'Charlie Checker')]
  const inTwo = two.gateway.context.db
  const fields = staffFields()
  const page = pageOf(fields.name)
  await save(fields, maker.browser)
  const enabling = await press(maker.browser, page, '/enable')
  await press(checker.browser, enabling.location!, '/approve')
  const change = async (values: Record<string, string>) =>
    maker.browser.submit(await maker.browser.get(page), `${page}/change`, {
      ...values,
      reason: 'for the test',
    })
  assert.equal((await change({ label: 'Renamed', role: 'audit=auditor' })).location, page)
  assert.deepEqual((await getProvider(inTwo, fields.name)).roleMap, { audit: 'auditor' })
  const proposed = await change({ role: 'audit=administrator' })
  assert.match(proposed.location!, /^\/console\/proposals\/\d+$/)
  assert.deepEqual((await getProvider(inTwo, fields.name)).roleMap, { audit: 'auditor' })
  const shown = await checker.browser.get(proposed.location!)
  assert.match(shown.text, /groups: audit: administrator[\s\S]*roleMap/)
  assert.equal((await press(checker.browser, proposed.location!, '/approve')).status, 303)
  assert.deepEqual((await getProvider(inTwo, fields.name)).roleMap, { audit: 'administrator' })
})

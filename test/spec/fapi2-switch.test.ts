/** FAPI 2.0 is set for a client: what stands in the way, what is held from then on, and the way back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { after, day, hour } from '../../src/clock.ts'
import { profileOf } from '../../src/oauth/profile.ts'
import { getClient, updateClient } from '../../src/partners/client.ts'
import { type ProfileTerms, setProfile } from '../../src/partners/client-profile.ts'
import { rotateSecret } from '../../src/partners/client-secret.ts'
import { addMember, getPartner } from '../../src/partners/partner.ts'
import { askForFapi2, declineProfileRequest, findProfileRequest } from '../../src/partners/profile-request.ts'
import { Conflict, Invalid } from '../../src/problem.ts'
import { openSecretKeeper } from '../../src/webhooks/subscriptions/signing-secrets.ts'
import { createWebhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { ask } from '../support/ask.ts'
import { faultsOf, openBranch } from '../support/branch.ts'
import { eventually } from '../support/eventually.ts'
import { openHouse, type TestClient } from '../support/gateway.ts'
import { makeReader, noticesOf } from '../support/notices.ts'
import { isWaiting } from '../support/waiting.ts'

const house = await openHouse()
const { db, vault, changes } = house.gateway.context
const secrets = openSecretKeeper(db, vault, changes)
const url = 'https://hooks.example.com/in'

const set = (client: TestClient, change: Partial<ProfileTerms>) => setProfile(db, client, change, house.act())
const within = (ms: number) => after(house.clock.now(), ms)
/** It has keys, where it says so. */
const withKeys = async (client: TestClient) => {
  await ask(db, 'UPDATE clients SET jwks_uri = $2 WHERE id = $1', [client.id, 'https://app.example.com/jwks'])
  return client
}
const makeClient = async () => withKeys(await house.makeClient())
const isConflict = (pattern: RegExp) => (error: unknown) =>
  error instanceof Conflict && pattern.test(error.message)
const isInvalid = (pattern: RegExp) => (error: unknown) =>
  error instanceof Invalid && pattern.test(error.message)

test('all that stands in the way is named at once, with its remedy', async () => {
  const client = await house.makeClient({ environment: 'sandbox', callbackUrl: 'http://127.0.0.1:9/cb' })
  const branch = await openBranch(house, { client, environment: 'sandbox' })
  const [first, second] = [await branch.register(url), await branch.register(url)]
  await branch.register(url, { secret: 'of its own' })
  await assert.rejects(set(client, { from: house.clock.now() }), (error: Error) => {
    assert.ok(error instanceof Conflict)
    assert.ok(error.message.includes(`signs webhooks ${first}, ${second}: give each a secret of its own`))
    assert.match(error.message, /http:\/\/127\.0\.0\.1:9\/cb is not https/)
    assert.match(error.message, /no key to prove itself by/)
    return true
  })
  assert.equal((await getClient(db, client.id)).fapi2From, null)
})

test('keys may come until the moment; a deleted webhook and one with a secret of its own are in nobody’s way', async () => {
  const client = await house.makeClient()
  const branch = await openBranch(house, { client })
  await branch.call('DELETE', `/v2/webhooks/${await branch.register(url)}`)
  const id = await branch.register(url)
  await branch.call('POST', `/v2/webhooks/${id}/secret`, { secret: 'of its own' })
  await assert.rejects(set(client, { from: house.clock.now() }), isConflict(/yet\. It has no key/))
  const from = within(day)
  const moving = await set(client, { from })
  assert.equal(profileOf(moving, house.clock.now()), 'moving')
  assert.equal(profileOf(moving, within(day - 1)), 'moving')
  assert.equal(profileOf(moving, within(day)), 'fapi2')
  const [entry] = await findEntries(db, { action: 'client.profile_set', subject: `client:${client.id}` })
  assert.deepEqual(entry!.details, {
    ...{ branchId: client.branchId, profile: 'fapi2', from: from.toISOString() },
    ...{ bearers: 'end', demandsDpopNonces: false },
  })
})

test('a secret of a webhook that begins to sign after the moment does not count for it', async () => {
  const client = await makeClient()
  const branch = await openBranch(house, { client })
  const id = await branch.register(url)
  const switchAt = within(2 * day).getTime()
  await branch.call('POST', `/v2/webhooks/${id}/secret`, { secret: 'of its own', switchAt })
  await assert.rejects(set(client, { from: within(day) }), isConflict(new RegExp(`signs webhook ${id}:`)))
  assert.equal((await set(client, { from: within(2 * day) })).fapi2From?.getTime(), switchAt)
})

test('a moment that has passed is refused; the moment that stands may be said again', async () => {
  const client = await makeClient()
  await assert.rejects(set(client, { from: within(-1) }), isInvalid(/^from must not lie in the past/))
  const { fapi2From } = await set(client, { from: house.clock.now() })
  house.clock.advance(hour)
  const nonces = await set(client, { from: fapi2From, demandsDpopNonces: true })
  assert.deepEqual([nonces.fapi2From, nonces.demandsDpopNonces], [fapi2From, true])
})

for (const [profile, ms] of [
  ['moving', day],
  ['fapi2', 0],
] as const) {
  test(`the webhooks of a client that is ${profile} bring secrets of their own, and its callback stays https`, async () => {
    const client = await makeClient()
    const branch = await openBranch(house, { client })
    await set(client, { from: within(ms) })
    const acting = { ...house.act(), development: true }
    await assert.rejects(
      updateClient(db, client, { callbackUrl: 'http://127.0.0.1/cb' }, acting),
      isInvalid(/^callback must begin with https:\/\/ of a client that has, or is to have, FAPI 2\.0/),
    )
    if (profile === 'fapi2') return
    const refused = await branch.call('POST', '/v2/webhooks', { url })
    assert.equal(refused.status, 400)
    assert.match(faultsOf(refused).secret!, /^is missing: the client Portfolio Pal has FAPI 2\.0 from .* on/)
    await branch.register(url, { secret: 'of its own' })
  })
}

test('whichever statement writes: no webhook loses its own secret, or is made to be signed by the client', async () => {
  const client = await makeClient()
  const branch = await openBranch(house, { client })
  const id = await branch.register(url, { secret: 'of its own' })
  const signed = await branch.register(url)
  const violated = { constraint: 'webhooks_of_fapi2' }
  const move = () =>
    ask(db, "UPDATE clients SET fapi2_from = updated_at + interval '1 day' WHERE id = $1", [client.id])
  await assert.rejects(move(), violated)
  await branch.call('DELETE', `/v2/webhooks/${signed}`)
  await move()
  await assert.rejects(ask(db, 'DELETE FROM webhook_secrets WHERE webhook_id = $1', [id]), violated)
  await assert.rejects(
    ask(db, 'UPDATE webhook_secrets SET ends_at = now() WHERE webhook_id = $1', [id]),
    violated,
  )
  const insert = `INSERT INTO webhooks (branch_id, environment, client_id, url, kinds, created_at, updated_at)
    VALUES ($2, 'live', $1, 'https://a.example', '{TRANSACTION}', now(), now())`
  await assert.rejects(ask(db, insert, [client.id, client.branchId]), violated)
})

test('a webhook that is made with the client secret while the profile is set waits for it, and is refused', async (t) => {
  const client = await makeClient()
  const branch = await openBranch(house, { client })
  const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>()
  const { promise: isSet, resolve: setNow } = Promise.withResolvers<void>()
  const setting = db.transaction(async (sql) => {
    await setProfile(sql, client, { from: within(day) }, house.act())
    setNow()
    await mayCommit
  })
  t.after(() => commit())
  await isSet
  const made = branch.call('POST', '/v2/webhooks', { url })
  await eventually('the webhook waits for the client', () => isWaiting(db, '%FOR SHARE%'))
  commit()
  await setting
  const refused = await made
  assert.equal(refused.status, 400)
  assert.match(faultsOf(refused).secret!, /FAPI 2\.0/)
})

test('a profile that is set while a webhook is made with the client secret waits for it, and is refused', async (t) => {
  const client = await makeClient()
  const insert = `INSERT INTO webhooks (branch_id, environment, client_id, url, kinds, created_at, updated_at)
    VALUES (${client.branchId}, 'live', '${client.id}', 'https://a.example', '{TRANSACTION}', now(), now())`
  const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>()
  const { promise: isMade, resolve: madeNow } = Promise.withResolvers<void>()
  const making = db.transaction(async (sql) => {
    await sql.script(insert)
    madeNow()
    await mayCommit
  })
  t.after(() => commit())
  await isMade
  const setting = set(client, { from: within(day) })
  await eventually('the profile waits for the webhook', () => isWaiting(db, '%FOR UPDATE'))
  commit()
  await making
  await assert.rejects(setting, isConflict(/signs webhook \d+:/))
})

test('at the moment the client secret signs nothing more, beside the webhook’s own either', async () => {
  const client = await makeClient()
  const branch = await openBranch(house, { client })
  const id = await branch.register(url)
  await branch.call('POST', `/v2/webhooks/${id}/secret`, { secret: 'of its own' })
  const living = async () => (await secrets.find(id, house.clock.now()))!.all
  assert.deepEqual(await living(), ['of its own', client.secret])
  await set(client, { from: within(hour) })
  assert.deepEqual(await living(), ['of its own', client.secret])
  house.clock.advance(hour)
  assert.deepEqual(await living(), ['of its own'])
})

test('a client of FAPI 2.0 gets no secret; one that is moving still does', async () => {
  const client = await makeClient()
  await set(client, { from: within(hour) })
  const rotate = () => rotateSecret(db, vault, client, { overlapMs: 0 }, house.act())
  await rotate()
  house.clock.advance(hour)
  await assert.rejects(rotate(), isConflict(/has FAPI 2\.0 and no secret.*add a key/))
})

test('an operator takes it back to the standard, and the log says so', async () => {
  const client = await makeClient()
  await set(client, { from: house.clock.now() })
  assert.equal((await set(client, { from: null })).fapi2From, null)
  const [entry] = await findEntries(db, { action: 'client.profile_set', subject: `client:${client.id}` })
  assert.equal(entry!.details.profile, 'standard')
})

test('a partner asks once; the moment that is set answers, and so does the operator who declines', async () => {
  const client = await house.makeClient()
  const wished = within(7 * day)
  await assert.rejects(askForFapi2(db, client, within(-1), house.act()), isInvalid(/^wished/))
  await askForFapi2(db, client, wished, house.act())
  await assert.rejects(askForFapi2(db, client, undefined, house.act()), isConflict(/asked already/))
  const asked = (await findProfileRequest(db, client.id))!
  assert.deepEqual([asked.wishedFrom, asked.granted], [wished, null])
  const other = await house.makeClient()
  assert.equal(await declineProfileRequest(db, other, asked.id, house.act()), false)
  assert.equal(await declineProfileRequest(db, client, asked.id, house.act()), true)
  assert.equal(await declineProfileRequest(db, client, asked.id, house.act()), false)
  assert.equal((await findProfileRequest(db, client.id))!.granted, false)
  await askForFapi2(db, client, undefined, house.act())
  await set(client, { demandsDpopNonces: true })
  assert.equal((await findProfileRequest(db, client.id))!.granted, null)
  await set(client, { from: wished })
  assert.equal((await findProfileRequest(db, client.id))!.granted, true)
  await assert.rejects(askForFapi2(db, client, undefined, house.act()), isConflict(/has set FAPI 2\.0/))
})

test('members of the partner are told by mail from when on, and that it is over, and of nothing else', async () => {
  const client = await makeClient()
  const reader = await makeReader(house)
  await addMember(db, await getPartner(db, String(client.branchId)), reader, house.act())
  const told = async () =>
    (await noticesOf(db, reader))
      .filter(({ kind }) => kind === 'client-profile')
      .map(({ facts }) => [
        facts.clientId,
        facts.from && new Date(String(facts.from)),
        facts.endsBearers,
        facts.hasSecret,
      ])
  const from = within(day)
  await set(client, { from, endsBearers: false })
  await set(client, { demandsDpopNonces: true })
  house.clock.advance(hour)
  await set(client, { from: null })
  house.clock.advance(hour)
  await set(client, { from: within(0) })
  house.clock.advance(day)
  await set(client, { from: null })
  assert.deepEqual(await told(), [
    [client.id, from, false, true],
    [client.id, null, false, true],
    [client.id, within(-day), false, true],
    [client.id, null, false, false],
  ])
})

test('a webhook that names no client is signed by one that has a secret to stay; without one it brings its own', async () => {
  const partner = await house.makePartner()
  const first = await withKeys(await house.makeClient({ partner }))
  await set(first, { from: within(hour) })
  const draft = { url, secret: undefined, kinds: undefined }
  const deps = { db, vault, policy: house.gateway.context.config.webhooks }
  const branch = { branchId: partner.branchId, environment: 'live' } as const
  const make = () => createWebhook(deps, branch, undefined, draft, house.act())
  await assert.rejects(
    make(),
    isInvalid(/^secret is missing: this branch has no client whose secret could sign/),
  )
  const second = await house.makeClient({ partner })
  assert.equal((await make()).clientId, second.id)
})

/** Webhooks as programs declare them, for a client by its name. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, day } from '../../src/clock.ts'
import { setProfile } from '../../src/partners/client-profile.ts'
import { addMember } from '../../src/partners/partner.ts'
import { disableWebhook } from '../../src/webhooks/subscriptions/webhook.ts'
import { fetchItem, nameOfObject, openAdminProgram, outcomeOf } from '../support/administration.ts'
import { openHouse } from '../support/gateway.ts'
import { makeUpWord } from '../support/made-up-word.ts'

const house = await openHouse()
const { db } = house.gateway.context
const program = await openAdminProgram(house)
const owned = await house.makePartner()
const made = await house.makeClient({ partner: owned })
const partner = await nameOfObject(db, 'partners', owned.branchId)
const client = await nameOfObject(db, 'clients', made.id)
const url = 'https://hooks.example.com/in'
const pathOf = (name: string) => `/admin/v1/webhooks/${name}`
const draft = { partner, client, url }

async function makeWebhook(name: string, spec: object = {}) {
  outcomeOf(await program.call('PUT', pathOf(name), { spec: { ...draft, ...spec }, owner: 'ci' }), 201)
  return fetchItem(program, pathOf(name))
}

test('a webhook is made by a name, is what was declared, and the same again changes nothing', async () => {
  const name = `hook-${makeUpWord()}`
  const spec = {
    ...{ kinds: ['APPLICATION', 'TRANSACTION'], actions: { TRANSACTION: ['COMPLETED', 'APPROVED'] } },
    ...{ rateLimit: 5, description: ' Ledger ', state: 'paused' },
  }
  const dry = outcomeOf(
    await program.call('PUT', `${pathOf(name)}?dryRun=true`, { spec: { ...draft, ...spec } }),
    200,
  )
  assert.equal(dry.outcome, 'created')
  assert.equal((await program.call('GET', pathOf(name))).status, 404)
  const item = await makeWebhook(name, spec)
  assert.deepEqual(item.spec, {
    ...{
      ...draft,
      kinds: ['TRANSACTION', 'APPLICATION'],
      actions: { TRANSACTION: ['APPROVED', 'COMPLETED'] },
    },
    ...{ rateLimit: 5, description: 'Ledger', state: 'paused' },
  })
  assert.deepEqual(item.status.secrets, [])
  for (const again of [item.spec, spec])
    assert.equal(
      outcomeOf(await program.call('PUT', pathOf(name), { spec: again }), 200).outcome,
      'unchanged',
    )
  const plain = await makeWebhook(`${name}-2`, { client: undefined })
  assert.deepEqual(
    [plain.spec.client, plain.spec.kinds, plain.spec.actions, plain.spec.rateLimit, plain.spec.state],
    [client, ['TRANSACTION', 'APPLICATION', 'ACH_PROFILE'], {}, null, 'active'],
  )
})

test('it is changed at once, paused with a reason, and what the gateway has disabled is no wish of anybody', async () => {
  const name = `change-${makeUpWord()}`
  const { status, etag } = await makeWebhook(name)
  const moved = { url: `${url}/2`, kinds: ['AUTHORIZATION'], rateLimit: 1 }
  const changed = outcomeOf(
    await program.call('PUT', pathOf(name), { spec: moved }, { 'if-match': etag }),
    200,
  )
  assert.deepEqual(changed.changes.map(({ field }) => field).sort(), [
    'spec.kinds',
    'spec.rateLimit',
    'spec.url',
  ])
  const late = await program.call('PUT', pathOf(name), { spec: {} }, { 'if-match': etag })
  assert.equal(late.status, 412)
  assert.deepEqual(late.json<{ moved: string[] }>().moved.sort(), [
    'spec.kinds',
    'spec.rateLimit',
    'spec.url',
  ])
  assert.equal((await program.call('PUT', pathOf(name), { spec: { state: 'paused' } })).status, 400)
  await disableWebhook(db, Number(status.webhookId), 'The receiver answered 410 Gone.', house.act())
  const disabled = await fetchItem(program, pathOf(name))
  assert.deepEqual(
    [disabled.spec.state, disabled.status.disabledReason],
    ['active', 'The receiver answered 410 Gone.'],
  )
  const same = outcomeOf(await program.call('PUT', pathOf(name), { spec: disabled.spec }), 200)
  assert.equal(same.outcome, 'unchanged')
  for (const state of ['paused', 'active'])
    outcomeOf(await program.call('PUT', `${pathOf(name)}?reason=Fixed`, { spec: { state } }), 200)
  assert.equal((await fetchItem(program, pathOf(name))).status.disabledReason, null)
})

test('DELETE deletes it, and its name is free', async () => {
  const name = `gone-${makeUpWord()}`
  const before = await makeWebhook(name)
  assert.equal((await program.call('DELETE', pathOf(name))).status, 400)
  assert.equal(outcomeOf(await program.call('DELETE', `${pathOf(name)}?reason=x`), 200).outcome, 'removed')
  assert.equal((await program.call('GET', pathOf(name))).status, 404)
  const after = await makeWebhook(name)
  assert.notEqual(after.status.webhookId, before.status.webhookId)
})

test('two who make the same at once make one', async () => {
  const name = `twins-${makeUpWord()}`
  const answers = await Promise.all([1, 2, 3].map(() => program.call('PUT', pathOf(name), { spec: draft })))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 201])
})

test('what is wrong is told by the name of its field; clients are those of the partner and the site', async () => {
  const name = `odd-${makeUpWord()}`
  const strange = await house.makeClient()
  const sandbox = await openAdminProgram(house, { environment: 'sandbox' })
  const boxed = `box-${makeUpWord()}`
  const spec = { partner, displayName: boxed, callbackUrl: 'https://app.example.com/callback' }
  outcomeOf(await sandbox.call('PUT', `/admin/v1/clients/${boxed}`, { spec }), 201)
  const lonely = await nameOfObject(db, 'partners', (await house.makePartner()).branchId)
  const faults: [object, string][] = [
    [{ client, url }, 'spec.partner'],
    [{ partner, client }, 'spec.url'],
    [{ ...draft, url: 'http://hooks.example.com/x' }, 'spec.url'],
    [{ ...draft, client: await nameOfObject(db, 'clients', strange.id) }, 'spec.client'],
    [{ ...draft, client: boxed }, 'spec.client'],
    [{ partner: lonely, url }, 'spec.client'],
    [{ ...draft, actions: { AUTHORIZATION: ['GRANTED'] } }, 'spec.actions'],
    [{ ...draft, rateLimit: 0 }, 'spec.rateLimit'],
    [{ ...draft, kinds: [] }, 'spec.kinds'],
    [{ ...draft, secret: 'correct horse battery' }, 'spec.secret'],
    [{ ...draft, headers: { 'x-key': 'y' } }, 'spec.headers'],
  ]
  for (const [spec, field] of faults) {
    const answer = await program.call('PUT', pathOf(name), { spec })
    assert.equal(answer.status, 400, `${field}: ${answer.text}`)
    assert.equal(answer.json<{ fields: { field: string }[] }>().fields[0]!.field, field, answer.text)
  }
  await makeWebhook(name)
  for (const spec of [{ partner: lonely }, { client: null }])
    assert.equal((await program.call('PUT', pathOf(name), { spec })).status, 400)
})

test('it takes whoever manages partners, and nobody declares a webhook of their own', async () => {
  const name = `own-${makeUpWord()}`
  await makeWebhook(name)
  const operator = await openAdminProgram(house, { role: 'webhook-operator' })
  assert.equal((await operator.call('GET', pathOf(name))).status, 200)
  const maker = await house.makeOperator('Own One')
  const robot = await openAdminProgram(house, { maker })
  await addMember(db, owned, maker, house.act())
  for (const each of [operator, robot])
    for (const [method, path, body] of [
      ['PUT', pathOf(name), { spec: { description: 'Mine' } }],
      ['PUT', pathOf(`${name}-2`), { spec: draft }],
      ['DELETE', `${pathOf(name)}?reason=x`, undefined],
      ['POST', `${pathOf(name)}/secrets`, undefined],
    ] as const)
      assert.equal((await each.call(method, path, body)).status, 403, `${method} ${path}`)
  assert.equal((await fetchItem(program, pathOf(name))).spec.description, '')
})

test('its secret is made by a POST, signs from then on, and is shown by nothing else', async () => {
  const name = `sign-${makeUpWord()}`
  await makeWebhook(name)
  const post = () => program.call('POST', `${pathOf(name)}/secrets`, undefined, { 'idempotency-key': name })
  const answer = await post()
  assert.equal(answer.status, 201, answer.text)
  assert.equal((await post()).text, answer.text)
  const { secret, hint } = answer.json<{ secret: string; hint: string }>()
  assert.ok(secret.endsWith(hint))
  const item = await fetchItem(program, pathOf(name))
  assert.equal((item.status.secrets as object[]).length, 1)
  assert.ok(!JSON.stringify(item).includes(secret))
})

test('a webhook for a client of FAPI 2.0 begins with a secret that nobody knows', async () => {
  const moving = await house.makeClient({ partner: owned })
  await setProfile(db, moving, { from: after(house.clock.now(), day) }, house.act())
  const name = `bound-${makeUpWord()}`
  const { status } = await makeWebhook(name, { client: await nameOfObject(db, 'clients', moving.id) })
  assert.equal((status.secrets as object[]).length, 1)
  const secret = await program.call('POST', `${pathOf(name)}/secrets`)
  assert.equal(secret.status, 201)
  assert.match(secret.json<{ secret: string }>().secret, /^[A-Za-z0-9]{43}$/)
})

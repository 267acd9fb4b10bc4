/**
 * What a partner chooses for a webhook, by the interface and in the portal. What reaches receivers is in
 * test/delivery/webhook-settings.long.ts.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../support/ask.ts'

import { faultsOf, openBranch } from '../support/branch.ts'
import { openHouse } from '../support/gateway.ts'
import { openPartner } from '../support/portal.ts'

const house = await openHouse({ ROLES: 'api' })
const branch = await openBranch(house)
const url = 'https://app.example.com/hooks'
const settingsOf = async (id: number) =>
  (await branch.call('GET', `/v2/webhooks/${id}/settings`)).json<object>()

test('actions, rate limit, headers and description are set, shown without the values of headers, and changed', async () => {
  const chosen = {
    kinds: ['TRANSACTION', 'APPLICATION'],
    actions: { TRANSACTION: ['COMPLETED'] },
    rateLimit: 10,
  }
  const headers = { 'X-Api-Key': 'sesame-open', Authorization: 'Bearer of-the-receiver' }
  const id = await branch.register(url, { ...chosen, headers, description: 'Ledger' })
  const shown = { ...chosen, headers: ['authorization', 'x-api-key'], description: 'Ledger' }
  assert.deepEqual(await settingsOf(id), shown)
  const { webhooks } = (await branch.call('GET', '/v2/webhooks')).json<{ webhooks: object[] }>()
  assert.partialDeepStrictEqual(webhooks, [{ id, ...shown }])
  assert.deepEqual(Object.keys((await branch.call('GET', `/v2/webhooks/${id}`)).json()), [
    'id',
    'createdAt',
    'updatedAt',
    'url',
  ])
  const change = { rateLimit: null, headers: { 'x-api-key': null, 'x-route': 'blue' }, actions: {} }
  assert.equal((await branch.call('PATCH', `/v2/webhooks/${id}`, change)).status, 200)
  const after = { ...shown, actions: {}, rateLimit: null, headers: ['authorization', 'x-route'] }
  assert.deepEqual(await settingsOf(id), after)
  assert.equal((await branch.call('PATCH', `/v2/webhooks/${id}`, { description: '' })).status, 200)
  assert.deepEqual(await settingsOf(id), { ...after, description: '' }, 'what is not given stays')
})

test('the values of headers are sealed, and the audit log has their names alone', async () => {
  const id = await branch.register(url, { headers: { 'x-api-key': 'a-very-secret-value' } })
  await branch.call('PATCH', `/v2/webhooks/${id}`, { headers: { 'x-api-key': 'a-very-secret-value' } })
  const { db } = house.gateway.context
  const select = (table: string) => ask<{ line: string }>(db, `SELECT t::text AS line FROM ${table} t`)
  const lines = (await Promise.all(['webhooks', 'webhook_headers', 'audit_entries'].map(select))).flat()
  const hex = Buffer.from('a-very-secret-value').toString('hex')
  assert.ok(
    lines.length > 0 &&
      lines.every(({ line }) => !line.includes('a-very-secret-value') && !line.includes(hex)),
  )
})

const bad: Record<string, [body: object, field: RegExp]> = {
  'a rate of nothing': [{ rateLimit: 0 }, /^rateLimit$/],
  'a rate beyond the most': [{ rateLimit: 1001 }, /^rateLimit$/],
  'a rate in parts': [{ rateLimit: 1.5 }, /^rateLimit$/],
  'an action that is none': [{ actions: { TRANSACTION: ['REJECTED'] } }, /^actions/],
  'no action of a kind': [{ actions: { TRANSACTION: [] } }, /^actions/],
  'actions of a kind that is not sent': [
    { kinds: ['TRANSACTION'], actions: { APPLICATION: ['PENDING'] } },
    /^actions$/,
  ],
  'a description of several lines': [{ description: 'one\ntwo' }, /^description$/],
  'a description that is too long': [{ description: 'x'.repeat(201) }, /^description$/],
  'a header that ends a line': [{ headers: { 'x-a': 'b\r\nx-webhook-signature: c' } }, /^headers/],
  'a header beyond ASCII': [{ headers: { 'x-a': 'é' } }, /^headers/],
  'a header with a space at its end': [{ headers: { 'x-a': 'b ' } }, /^headers/],
  'a header without a name': [{ headers: { '': 'b' } }, /^headers/],
  'a name with a colon': [{ headers: { 'x-a:': 'b' } }, /^headers/],
  'a header twice': [{ headers: { 'x-a': 'b', 'X-A': 'c' } }, /^headers/],
  'eleven headers': [
    { headers: Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`x-${n}`, 'b'])) },
    /^headers$/,
  ],
  'headers that are too long together': [
    { headers: Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`x-${n}`, 'b'.repeat(1000)])) },
    /^headers$/,
  ],
}
const reserved = [
  ...[
    'Host',
    'Content-Length',
    'content-type',
    'Content-Encoding',
    'Transfer-Encoding',
    'Connection',
    'TE',
    'Upgrade',
    'Expect',
  ],
  ...[
    'User-Agent',
    'X-Webhook-Signature',
    'x-webhook-test',
    'Webhook-Id',
    'webhook-signature',
    'Cookie',
    'Proxy-Authorization',
  ],
  ...['X-Forwarded-For', 'Forwarded', 'X-Real-IP', 'X-HTTP-Method-Override', '__proto__'],
]
for (const name of reserved) bad[`the header ${name}`] = [{ headers: { [name]: 'b' } }, /^headers/]

test('settings that cannot be are refused with their field, when a webhook is made and when it is changed', async () => {
  const id = await branch.register(url)
  const before = await settingsOf(id)
  for (const [what, [body, field]] of Object.entries(bad)) {
    for (const answer of [
      await branch.call('POST', '/v2/webhooks', { url, ...body }),
      await branch.call('PATCH', `/v2/webhooks/${id}`, body),
    ]) {
      assert.equal(answer.status, 400, `${what}: ${answer.text}`)
      if (!what.includes('__proto__')) assert.match(Object.keys(faultsOf(answer)).join(), field, what)
    }
  }
  assert.deepEqual(await settingsOf(id), before)
})

test('headers of one host are not sent to another by changing the URL', async () => {
  const id = await branch.register(url, { headers: { authorization: 'Bearer of-the-receiver' } })
  const elsewhere = 'https://elsewhere.example.com/hooks'
  const answer = await branch.call('PATCH', `/v2/webhooks/${id}`, { url: elsewhere })
  assert.deepEqual([answer.status, Object.keys(faultsOf(answer))], [400, ['headers']], answer.text)
  assert.equal(
    (await branch.call('PATCH', `/v2/webhooks/${id}`, { url: 'https://app.example.com/others' })).status,
    200,
  )
  const again = { url: elsewhere, headers: { Authorization: 'Bearer of-the-other' } }
  assert.equal((await branch.call('PATCH', `/v2/webhooks/${id}`, again)).status, 200)
  assert.equal(
    (await branch.call('PATCH', `/v2/webhooks/${id}`, { url, headers: { authorization: null } })).status,
    200,
  )
  assert.partialDeepStrictEqual(await settingsOf(id), { headers: [] })
})

test('another branch sees no settings, and changes none', async () => {
  const id = await branch.register(url, { headers: { 'x-a': 'b' } })
  const other = await openBranch(house)
  assert.equal((await other.call('GET', `/v2/webhooks/${id}/settings`)).status, 404)
  assert.equal((await other.call('PATCH', `/v2/webhooks/${id}`, { headers: { 'x-a': null } })).status, 404)
  assert.partialDeepStrictEqual(await settingsOf(id), { headers: ['x-a'] })
})

test('in the portal the same is chosen, what was typed stays beside what is wrong, and values are never on a page', async () => {
  const { browser, program, home } = await openPartner(house)
  const id = await program.register(url, { kinds: ['TRANSACTION'] })
  const here = `${home}/webhooks/${id}`
  const page = await browser.get(here)
  const typed = {
    url,
    kind: ['TRANSACTION', 'APPLICATION'],
    actions: ['TRANSACTION.COMPLETED'],
    rateLimit: '5',
    description: 'Ledger <b>',
  }
  const header = { headerName: 'X-Api-Key', headerSecret: 'sesame-open' }
  const answer = await browser.submit(page, `${here}/update`, { ...typed, ...header })
  assert.equal(answer.status, 303, answer.text)
  const shown = (await program.call('GET', `/v2/webhooks/${id}/settings`)).json()
  const kinds = ['TRANSACTION', 'APPLICATION']
  const actions = { TRANSACTION: ['COMPLETED'] }
  const expected = { kinds, actions, rateLimit: 5, headers: ['x-api-key'], description: 'Ledger <b>' }
  assert.deepEqual(shown, expected)
  const saved = await browser.get(here)
  assert.match(saved.text, /Ledger &lt;b&gt;/)
  assert.match(saved.text, /name="removeHeader" value="x-api-key"/)
  assert.doesNotMatch(saved.text, /sesame-open/)
  const wrong = await browser.submit(saved, `${here}/update`, {
    ...typed,
    rateLimit: '5000',
    headerName: 'Host',
    headerSecret: 'sesame-open',
  })
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /value="5000"/)
  assert.match(wrong.text, /that one is not yours to set/)
  assert.doesNotMatch(wrong.text, /sesame-open/)
  const removal = await browser.submit(saved, `${here}/update`, {
    ...typed,
    actions: [],
    removeHeader: 'x-api-key',
  })
  assert.equal(removal.status, 303)
  assert.deepEqual((await program.call('GET', `/v2/webhooks/${id}/settings`)).json(), {
    ...expected,
    actions: {},
    headers: [],
  })
})

test('a webhook is registered in the portal with the same settings, folded away until one is chosen or wrong', async () => {
  const { browser, program, home } = await openPartner(house)
  const here = `${home}/webhooks`
  const page = await browser.get(here)
  assert.match(page.text, /<details><summary>More settings/)
  const typed = {
    ...{ url, secret: 'sesame-of-its-own', kind: ['TRANSACTION'], actions: ['TRANSACTION.COMPLETED'] },
    ...{ rateLimit: '5000', description: 'Ledger <b>', headerName: 'X-Api-Key', headerSecret: 'sesame-open' },
  }
  const wrong = await browser.submit(page, `${here}/create`, typed)
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /<details open><summary>More settings/)
  assert.match(wrong.text, /id="rateLimit-problem">It must be a whole number from 1 to 1000/)
  for (const kept of [
    /value="5000"/,
    /value="Ledger &lt;b&gt;"/,
    /value="X-Api-Key"/,
    /value="TRANSACTION.COMPLETED" checked/,
  ])
    assert.match(wrong.text, kept)
  assert.doesNotMatch(wrong.text, /sesame|value="TRANSACTION.SUBMITTED" checked/)
  const reserved = await browser.submit(wrong, `${here}/create`, {
    ...typed,
    rateLimit: '5',
    headerName: 'Host',
  })
  assert.match(reserved.text, /Headers: it must not have host/)
  const made = await browser.submit(wrong, `${here}/create`, { ...typed, rateLimit: '5' })
  assert.equal(made.status, 303, made.text)
  const id = Number(made.location!.split('/').at(-1))
  const chosen = { kinds: ['TRANSACTION'], actions: { TRANSACTION: ['COMPLETED'] }, rateLimit: 5 }
  assert.deepEqual((await program.call('GET', `/v2/webhooks/${id}/settings`)).json(), {
    ...{ ...chosen, headers: ['x-api-key'], description: 'Ledger <b>' },
  })
})

/** Secrets are made by a POST that shows them once, and the same POST makes nothing more. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiRoutes } from '../../src/api/routes.ts'
import { day } from '../../src/clock.ts'
import { removeDead } from '../../src/gateway/housekeeping.ts'
import { addMember } from '../../src/partners/partner.ts'
import { createService } from '../../src/services/service.ts'
import { fetchItem, nameOfObject, openAdminProgram } from '../support/administration.ts'
import { ask } from '../support/ask.ts'
import { openHouse, openTestGateway } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeUpWord } from '../support/made-up-word.ts'

const house = await openHouse()
const { db } = house.gateway.context
const program = await openAdminProgram(house)

interface MadeSecret {
  readonly id: number
  readonly secret: string
  readonly hint: string
}

async function makeClient() {
  const partner = await house.makePartner()
  const client = await house.makeClient({ partner })
  const [row] = await ask<{ name: string }>(
    db,
    `SELECT name FROM object_names WHERE kind = 'clients' AND object_id = $1`,
    [client.id],
  )
  return { client, partner, path: `/admin/v1/clients/${row!.name}` }
}

const hintsOf = async (path: string) =>
  ((await fetchItem(program, path)).status.secrets as { id: number; hint: string }[]).map(({ hint }) => hint)

test('a secret of a client stands beside the one that there is, signs in at once, and is revoked by its number', async () => {
  const { client, path } = await makeClient()
  const code = await house.makeCode(client)
  const made = await program.call('POST', `${path}/secrets?reason=Rollover`)
  assert.equal(made.status, 201, made.text)
  const { id, secret, hint } = made.json<MadeSecret>()
  assert.equal((await house.exchange({ ...client, secret }, code)).status, 200)
  assert.deepEqual((await hintsOf(path)).at(-1), hint)
  assert.equal((await program.call('POST', `${path}/secrets`)).status, 409, 'two live already')
  assert.equal((await program.call('DELETE', `${path}/secrets/${id}`)).status, 400)
  assert.equal((await program.call('DELETE', `${path}/secrets/${id}?reason=Leaked`)).status, 200)
  assert.equal((await program.call('DELETE', `${path}/secrets/${id}?reason=Leaked`)).status, 404)
  assert.equal((await hintsOf(path)).length, 1)
  const refused = await house.exchange({ ...client, secret }, await house.makeCode(client))
  assert.equal(refused.status, 401)
})

test('with an Idempotency-Key the same is answered the same and made once, also at once; another request is refused', async () => {
  const { path } = await makeClient()
  const key = makeUpWord()
  const post = (address: string, more: Record<string, string> = { 'idempotency-key': key }) =>
    program.call('POST', address, undefined, more)
  const answers = await Promise.all([1, 2, 3].map(() => post(`${path}/secrets`)))
  for (const answer of answers) assert.deepEqual([answer.status, answer.text], [201, answers[0]!.text])
  assert.equal((await hintsOf(path)).length, 2)
  const { path: other } = await makeClient()
  assert.equal((await post(`${other}/secrets`)).status, 409)
  assert.equal((await hintsOf(other)).length, 1)
  assert.equal((await post(`${other}/secrets`, { 'idempotency-key': 'no spaces' })).status, 400)
  const another = await openAdminProgram(house)
  const theirs = await another.call('POST', `${other}/secrets`, undefined, { 'idempotency-key': key })
  assert.equal(theirs.status, 201, 'keys are each credential’s own')
})

test('a refusal is not remembered, and after a day the key is free', async () => {
  const own = await keepOpen(openTestGateway())
  const robot = await openAdminProgram(own)
  const client = await own.makeClient()
  const [row] = await ask<{ name: string }>(
    own.gateway.context.db,
    `SELECT name FROM object_names WHERE kind = 'clients' AND object_id = $1`,
    [client.id],
  )
  const path = `/admin/v1/clients/${row!.name}/secrets`
  const post = () => robot.call('POST', path, undefined, { 'idempotency-key': 'k' })
  const first = await post()
  assert.equal(first.status, 201, first.text)
  own.clock.advance(day - 1)
  assert.equal((await post()).text, first.text)
  own.clock.advance(1)
  assert.equal((await removeDead(own.gateway.context)).adminAnswers, 1)
  assert.equal((await post()).status, 409, 'two live already')
  const { id } = first.json<MadeSecret>()
  assert.equal((await robot.call('DELETE', `${path}/${id}?reason=x`)).status, 200)
  const second = await post()
  assert.equal(second.status, 201)
  assert.notEqual(second.text, first.text)
})

test('what was answered is kept sealed: the database has no secret that can be read', async () => {
  const robot = await openAdminProgram(house)
  const { path } = await makeClient()
  const made = await robot.call('POST', `${path}/secrets`, undefined, { 'idempotency-key': makeUpWord() })
  const { secret } = made.json<MadeSecret>()
  const rows = await ask<{ text: string }>(
    db,
    `SELECT a::text || encode(sealed, 'escape') AS text FROM admin_answers a`,
  )
  assert.ok(rows.length > 0)
  for (const { text } of rows) assert.ok(!text.includes(secret))
})

test('nobody makes or revokes a secret of their own partner, nor without the permission', async () => {
  const { path, partner } = await makeClient()
  const maker = await house.makeOperator('Own One')
  const robot = await openAdminProgram(house, { maker })
  const viewer = await openAdminProgram(house, { role: 'viewer' })
  await addMember(db, partner, maker, house.act())
  const before = await viewer.call('GET', path)
  const [{ id }] = before.json<{ status: { secrets: [{ id: number }] } }>().status.secrets
  for (const each of [robot, viewer]) {
    assert.equal((await each.call('POST', `${path}/secrets`)).status, 403)
    assert.equal((await each.call('DELETE', `${path}/secrets/${id}?reason=x`)).status, 403)
  }
  assert.equal((await viewer.call('GET', path)).text, before.text)
})

test('no answer to a GET has a secret, of whatever kind', async () => {
  const word = makeUpWord()
  const spec = { type: 'staff', label: word, issuer: `https://${word}.example`, clientId: 'countersign' }
  assert.equal((await program.call('PUT', `/admin/v1/providers/${word}`, { spec })).status, 201)
  const credential = `hush-${word}-hush`
  const given = await program.call('POST', `/admin/v1/providers/${word}/credential`, { credential })
  assert.equal(given.status, 200, given.text)
  const { path, partner, client } = await makeClient()
  const hook = `/admin/v1/webhooks/hook-${word}`
  const named = { partner: await nameOfObject(db, 'partners', partner.branchId), url: 'https://a.example/in' }
  assert.equal((await program.call('PUT', hook, { spec: named })).status, 201)
  const { service, secret: ofService } = await createService(db, word, 'live', house.act())
  const systems = `/admin/v1/services/${await nameOfObject(db, 'services', service.id)}`
  const made = await Promise.all(
    [path, hook, systems].map((of) =>
      program.call('POST', `${of}/secrets`, undefined, { 'idempotency-key': makeUpWord() }),
    ),
  )
  const secrets = made.map((answer) => answer.json<MadeSecret>().secret)
  const hidden = [...secrets, credential, client.secret, ofService.text]
  const lists = apiRoutes
    .filter(({ method, path: of }) => method === 'GET' && /^\/admin\/v1\/[^:]+$/.test(of))
    .map(({ path: of }) => (of.endsWith('/authorizations') ? `${of}?client=${client.id}` : of))
  const pages = await Promise.all(lists.map((of) => program.call('GET', of)))
  const items = await Promise.all([path, hook, systems].map((of) => program.call('GET', of)))
  for (const { status, text } of [...pages, ...items]) {
    assert.equal(status, 200, text)
    for (const secret of hidden) assert.ok(!text.includes(secret), text)
  }
  assert.equal(pages.length > 8, true)
})

/** The brokerage's own systems as programs declare them: that there is one, and that it may more, is decided. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { getProposal } from '../../src/proposals/proposal.ts'
import { createSource } from '../../src/provisioning/source.ts'
import { createService } from '../../src/services/service.ts'
import { approveProposal, fetchItem, openAdminProgram, outcomeOf } from '../support/administration.ts'
import { send } from '../support/browser.ts'
import { openConsole } from '../support/console.ts'
import { openHouse } from '../support/gateway.ts'
import { makeUpWord } from '../support/made-up-word.ts'

const house = await openHouse()
const { db } = house.gateway.context
const program = await openAdminProgram(house)
const sandbox = await openAdminProgram(house, { environment: 'sandbox' })
const decider = await openConsole(house, 'Dora Decider')
const [core, crm] = [`core-${makeUpWord()}`, `crm-${makeUpWord()}`]
for (const source of [core, crm]) await createSource(db, { source, environment: 'live' }, house.act())
const pathOf = (name: string) => `/admin/v1/services/${name}`
const why = '?reason=They+start'

async function makeService(name: string, spec: object = {}) {
  const path = `${pathOf(name)}${why}`
  const body = { spec: { displayName: `Desk ${name}`, ...spec }, owner: 'platform' }
  const made = outcomeOf(await program.call('PUT', path, body), 202)
  assert.equal(await approveProposal(house, decider, made.proposals[0]!.id), 'applied')
  return fetchItem(program, pathOf(name))
}

test('a service is there when another person has decided, by its name and label, and nobody has its secret', async () => {
  const name = `desk-${makeUpWord()}`
  const body = { spec: { displayName: ' Desk ', mayProvision: [crm, core, crm] }, owner: 'platform' }
  assert.equal((await program.call('PUT', pathOf(name), body)).status, 400)
  const made = outcomeOf(await program.call('PUT', `${pathOf(name)}${why}`, body), 202)
  assert.deepEqual([made.outcome, made.etag, made.proposals[0]!.kind], ['proposed', null, 'service.create'])
  assert.deepEqual(
    made.changes.map(({ field, before, proposed }) => [field, before, proposed]),
    [
      ['spec.displayName', null, true],
      ['spec.mayProvision', null, true],
      ['owner', null, true],
    ],
  )
  assert.equal((await program.call('GET', pathOf(name))).status, 404)
  const again = outcomeOf(await program.call('PUT', `${pathOf(name)}${why}`, body), 202)
  assert.deepEqual(again.proposals, [{ ...made.proposals[0], isNew: false }])
  assert.equal(await approveProposal(house, decider, made.proposals[0]!.id), 'applied')
  const item = await fetchItem(program, pathOf(name))
  assert.deepEqual(item.spec, {
    ...{ displayName: 'Desk', mayProvision: [core, crm] },
    ...{ sees: ['username', 'client', 'accounts'], audience: null },
  })
  assert.deepEqual([item.owner, item.status.secrets], ['platform', []])
  const same = outcomeOf(await program.call('PUT', pathOf(name), body), 200)
  assert.equal(same.outcome, 'unchanged')
})

test('of two proposals for one name the second finds it taken, and nothing is there twice', async () => {
  const name = `twice-${makeUpWord()}`
  const dry = outcomeOf(
    await program.call('PUT', `${pathOf(name)}?dryRun=true`, { spec: { displayName: name } }),
    200,
  )
  assert.deepEqual([dry.outcome, dry.proposals[0]!.id], ['proposed', 0])
  const made = outcomeOf(await program.call('PUT', pathOf(name) + why, { spec: { displayName: name } }), 202)
  const { id } = made.proposals[0]!
  const page = await decider.browser.get(`/console/proposals/${id}`)
  // Its name is taken meanwhile, by what a command has made.
  await createService(db, name, 'live', house.act())
  await decider.browser.submit(page, `/console/proposals/${id}/approve`, {})
  assert.equal((await getProposal(db, id)).outcome, 'outdated')
  const sandboxed = await sandbox.call('GET', pathOf(name))
  assert.equal(sandboxed.status, 404)
})

test('less is done at once and says why, more waits, and both may come in one request', async () => {
  const name = `reach-${makeUpWord()}`
  await makeService(name, { mayProvision: [core], audience: 'https://a.example' })
  const spec = { mayProvision: [crm], sees: ['username', 'customer'], audience: 'https://b.example' }
  assert.equal((await program.call('PUT', pathOf(name), { spec: { mayProvision: [] } })).status, 400)
  const made = outcomeOf(await program.call('PUT', pathOf(name) + why, { spec }), 202)
  assert.deepEqual([made.outcome, made.proposals[0]!.kind], ['changed', 'service.widen'])
  const now = (await fetchItem(program, pathOf(name))).spec
  assert.deepEqual(now, { ...now, mayProvision: [], sees: ['username'], audience: 'https://a.example' })
  assert.equal(await approveProposal(house, decider, made.proposals[0]!.id), 'applied')
  const { spec: after } = await fetchItem(program, pathOf(name))
  assert.deepEqual(after, { ...after, ...spec })
  assert.equal(outcomeOf(await program.call('PUT', pathOf(name), { spec: after }), 200).outcome, 'unchanged')
})

test('a version of before is told what moved', async () => {
  const name = `moved-${makeUpWord()}`
  const { etag } = await makeService(name, { sees: ['username', 'client'] })
  const put = (sees: string[]) =>
    program.call('PUT', pathOf(name) + why, { spec: { sees } }, { 'if-match': etag })
  const answers = await Promise.all([put(['username']), put([])])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412])
  const lost = answers.find(({ status }) => status === 412)!
  assert.deepEqual(lost.json<{ moved: unknown }>().moved, ['spec.sees'])
})

test('DELETE revokes it, and its name is free', async () => {
  const name = `gone-${makeUpWord()}`
  const before = await makeService(name)
  assert.equal((await program.call('DELETE', pathOf(name))).status, 400)
  const ended = outcomeOf(await program.call('DELETE', pathOf(name) + why), 200)
  assert.deepEqual([ended.outcome, ended.etag], ['removed', null])
  assert.equal((await program.call('GET', pathOf(name))).status, 404)
  assert.equal((await program.call('DELETE', pathOf(name) + why)).status, 404)
  const after = await makeService(name)
  assert.notEqual(after.status.serviceId, before.status.serviceId)
})

test('what is wrong is told by the name of its field, and it takes whoever manages services', async () => {
  const name = `odd-${makeUpWord()}`
  const faults: [object, string][] = [
    [{}, 'spec.displayName'],
    [{ displayName: ' ' }, 'spec.displayName'],
    [{ displayName: 'x', mayProvision: ['nowhere'] }, 'spec.mayProvision'],
    [{ displayName: 'x', mayProvision: ['No'] }, 'spec.mayProvision.0'],
    [{ displayName: 'x', sees: ['everything'] }, 'spec.sees.0'],
    [{ displayName: 'x', audience: 'no uri' }, 'spec.audience'],
    [{ displayName: 'x', secret: 'y' }, 'spec.secret'],
  ]
  for (const [spec, field] of faults) {
    const answer = await program.call('PUT', pathOf(name) + why, { spec })
    assert.equal(answer.status, 400, `${field}: ${answer.text}`)
    assert.equal(answer.json<{ fields: { field: string }[] }>().fields[0]!.field, field, answer.text)
  }
  await makeService(name)
  assert.equal((await program.call('PUT', pathOf(name), { spec: { displayName: 'Other' } })).status, 400)
  for (const role of ['security-officer', 'partner-manager'] as const) {
    const other = await openAdminProgram(house, { role })
    assert.equal((await other.call('PUT', pathOf(name), { spec: {} })).status, 403)
  }
})

test('its secret is made by itself, is shown once, and the one of before is refused from then on', async () => {
  const name = `secret-${makeUpWord()}`
  const { status } = await makeService(name)
  const isIn = async (secret: string) => {
    const basic = Buffer.from(`${status.serviceId}:${secret}`).toString('base64')
    const answer = await send(`${house.internalUrl}/internal/openapi.json`, {
      headers: { authorization: `Basic ${basic}` },
    })
    return answer.status === 200
  }
  const make = async () => {
    const answer = await program.call('POST', `${pathOf(name)}/secrets`)
    assert.equal(answer.status, 201, answer.text)
    return answer.json<{ secret: string; hint: string }>()
  }
  const first = await make()
  assert.ok(await isIn(first.secret))
  const second = await make()
  assert.ok(!(await isIn(first.secret)))
  assert.ok(await isIn(second.secret))
  const item = await fetchItem(program, pathOf(name))
  assert.deepEqual(
    (item.status.secrets as { hint: string }[]).map(({ hint }) => hint),
    [second.hint],
  )
  assert.doesNotMatch(JSON.stringify(item), new RegExp(second.secret))
  const [entry] = await findEntries(db, { subject: `service:${String(status.serviceId)}` })
  assert.equal(entry!.action, 'service.secret_issued')
})

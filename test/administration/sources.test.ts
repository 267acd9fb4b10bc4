/** Sources as programs declare them: that one is named, and that a role speaks for it, is decided. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { approveProposal, fetchItem, openAdminProgram, outcomeOf } from '../support/administration.ts'
import { openConsole } from '../support/console.ts'
import { openHouse } from '../support/gateway.ts'
import { makeUpWord } from '../support/made-up-word.ts'

const house = await openHouse()
const program = await openAdminProgram(house)
const sandbox = await openAdminProgram(house, { environment: 'sandbox' })
const decider = await openConsole(house, 'Dora Decider')
const pathOf = (name: string) => `/admin/v1/sources/${name}`
const nameOf = () => `s${makeUpWord().toLowerCase().slice(0, 20)}`
/** Of every PostgreSQL. */
const [reader, monitor] = ['pg_read_all_data', 'pg_monitor']
const why = '?reason=A+new+core'

async function makeSource(name: string, roles: string[] = []) {
  const made = outcomeOf(
    await program.call('PUT', pathOf(name) + why, { spec: { roles }, owner: 'platform' }),
    202,
  )
  assert.equal(await approveProposal(house, decider, made.proposals[0]!.id), 'applied')
}

test('a source is named, with its roles and its label, when another person has decided', async () => {
  const name = nameOf()
  const body = { spec: { roles: [reader, monitor, reader] }, owner: 'platform' }
  const dry = outcomeOf(await program.call('PUT', `${pathOf(name)}?dryRun=true`, body), 200)
  assert.deepEqual(dry.proposals, [{ id: 0, kind: 'source.create', isNew: true }])
  assert.equal((await program.call('PUT', pathOf(name), body)).status, 400)
  const made = outcomeOf(await program.call('PUT', pathOf(name) + why, body), 202)
  assert.deepEqual([made.outcome, made.etag], ['proposed', null])
  const again = outcomeOf(await program.call('PUT', pathOf(name) + why, body), 202)
  assert.deepEqual(again.proposals, [{ ...made.proposals[0], isNew: false }])
  assert.equal((await program.call('GET', pathOf(name))).status, 404)
  assert.equal(await approveProposal(house, decider, made.proposals[0]!.id), 'applied')
  const item = await fetchItem(program, pathOf(name))
  assert.deepEqual(
    [item.spec, item.owner, item.status],
    [{ roles: [monitor, reader] }, 'platform', { heardAt: null }],
  )
  const same = outcomeOf(await program.call('PUT', pathOf(name), { spec: item.spec }), 200)
  assert.equal(same.outcome, 'unchanged')
  const other = await sandbox.call('PUT', pathOf(name) + why, { spec: {} })
  assert.equal(other.status, 409, 'it is of the live site')
})

test('a role is taken at once and given by another person', async () => {
  const name = nameOf()
  await makeSource(name, [reader])
  assert.equal((await program.call('PUT', pathOf(name), { spec: { roles: [] } })).status, 400)
  const swapped = { spec: { roles: [monitor] } }
  const made = outcomeOf(await program.call('PUT', pathOf(name) + why, swapped), 202)
  assert.deepEqual([made.outcome, made.proposals[0]!.kind], ['changed', 'source.allow-roles'])
  assert.deepEqual((await fetchItem(program, pathOf(name))).spec.roles, [])
  assert.equal(await approveProposal(house, decider, made.proposals[0]!.id), 'applied')
  assert.deepEqual((await fetchItem(program, pathOf(name))).spec.roles, [monitor])
})

test('a source does not end, and what is wrong is told by its field', async () => {
  const name = nameOf()
  await makeSource(name)
  assert.equal((await program.call('DELETE', pathOf(name) + why)).status, 409)
  const faults: [string, object, string][] = [
    ['1core', {}, 'name'],
    [nameOf(), { roles: ['no_such_role'] }, 'spec.roles'],
    [nameOf(), { roles: [''] }, 'spec.roles.0'],
    [nameOf(), { heardAt: 1 }, 'spec.heardAt'],
    [name, { roles: ['no_such_role'] }, 'spec.roles'],
  ]
  for (const [of, spec, field] of faults) {
    const answer = await program.call('PUT', pathOf(of) + why, { spec })
    assert.equal(answer.status, 400, `${field}: ${answer.text}`)
    assert.equal(answer.json<{ fields: { field: string }[] }>().fields[0]!.field, field, answer.text)
  }
  const auditor = await openAdminProgram(house, { role: 'auditor' })
  assert.equal((await auditor.call('GET', pathOf(name))).status, 200)
  assert.equal((await auditor.call('PUT', pathOf(name), { spec: {} })).status, 403)
})

test('of two who have read the same, one wins', async () => {
  const name = nameOf()
  await makeSource(name, [reader, monitor])
  const { etag } = await fetchItem(program, pathOf(name))
  const answers = await Promise.all(
    [[reader], [monitor]].map((roles) =>
      program.call('PUT', pathOf(name) + why, { spec: { roles } }, { 'if-match': etag }),
    ),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412])
  const lost = answers.find(({ status }) => status === 412)!
  assert.deepEqual(lost.json<{ moved: unknown }>().moved, ['spec.roles'])
})

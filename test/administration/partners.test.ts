/** Partners as programs declare them: by a name, as often as they like, and power only by another person. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findEntries } from '../../src/audit/audit.ts'
import { getPartner } from '../../src/partners/partner.ts'
import { getProposal } from '../../src/proposals/proposal.ts'
import { openAdminProgram } from '../support/administration.ts'
import { ask } from '../support/ask.ts'
import type { Answer } from '../support/browser.ts'
import { openConsole } from '../support/console.ts'
import { openHouse } from '../support/gateway.ts'
import { makeUpWord } from '../support/made-up-word.ts'

const house = await openHouse()
const { db } = house.gateway.context
const program = await openAdminProgram(house)

interface Outcome {
  readonly outcome: string
  readonly changes: readonly { field: string; before: unknown; after: unknown; proposed: boolean }[]
  readonly proposals: readonly { id: number; kind: string; isNew: boolean }[]
  readonly etag: string | null
}

interface Item {
  readonly name: string
  readonly owner: string | null
  readonly spec: Record<string, unknown>
  readonly status: { readonly branchId: number }
  readonly etag: string
}

const pathOf = (name: string) => `/admin/v1/partners/${name}`
const outcomeOf = (answer: Answer, status: number): Outcome => {
  assert.equal(answer.status, status, answer.text)
  return answer.json<Outcome>()
}

async function fetchItem(name: string): Promise<Item> {
  const answer = await program.call('GET', pathOf(name))
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Item>()
}

test('a partner is made by a name, is what was declared, and the same again changes nothing', async () => {
  const name = `acme-${makeUpWord()}`
  const declaration = { spec: { displayName: `Acme ${name}` }, owner: 'platform' }
  const made = outcomeOf(await program.call('PUT', pathOf(name), declaration), 201)
  assert.equal(made.outcome, 'created')
  assert.deepEqual(made.proposals, [])
  const item = await fetchItem(name)
  assert.deepEqual(item.spec, { displayName: `Acme ${name}`, state: 'applied', refreshAccess: false })
  assert.equal(item.owner, 'platform')
  assert.equal(item.etag, made.etag)
  const again = outcomeOf(
    await program.call('PUT', pathOf(name), { spec: item.spec, owner: 'platform' }),
    200,
  )
  assert.deepEqual(again, { ...again, outcome: 'unchanged', changes: [], proposals: [], etag: item.etag })
  const entries = await findEntries(db, { subject: `branch:${item.status.branchId}` })
  assert.deepEqual(
    entries.map(({ action, actor }) => [action, actor]),
    ['object.labelled', 'partner.applied'].map((action) => [action, `credential:${program.credentialId}`]),
  )
})

test('what gives power is proposed, and done when another person decides: nobody behind the credential does', async () => {
  const reader = await openConsole(house, 'Rita Reader')
  const maker = await openConsole(house, 'Mona Maker')
  const other = await openConsole(house, 'Otto Other')
  const robot = await openAdminProgram(house, { maker: maker.user, readers: [reader.user] })
  const name = `power-${makeUpWord()}`
  const spec = { displayName: name, state: 'approved' }
  const refused = await robot.call('PUT', pathOf(name), { spec })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /reason is missing/)
  const path = `${pathOf(name)}?reason=They+passed`
  const made = outcomeOf(await robot.call('PUT', path, { spec }), 202)
  assert.deepEqual([made.outcome, made.proposals[0]?.isNew], ['created', true])
  assert.equal((await fetchItem(name)).spec.state, 'applied')
  const again = outcomeOf(await robot.call('PUT', path, { spec }), 202)
  assert.deepEqual(again.proposals, [{ ...made.proposals[0], isNew: false }])
  assert.deepEqual(
    [again.outcome, again.changes],
    ['proposed', [{ field: 'spec.state', before: 'applied', after: 'approved', proposed: true }]],
  )
  const id = made.proposals[0]!.id
  for (const { browser } of [maker, reader]) {
    const page = await browser.get(`/console/proposals/${id}`)
    assert.doesNotMatch(page.text, /proposals\/\d+\/approve"/)
  }
  const page = await other.browser.get(`/console/proposals/${id}`)
  await other.browser.submit(page, `/console/proposals/${id}/approve`, {})
  assert.equal((await getProposal(db, id)).outcome, 'applied')
  assert.equal((await fetchItem(name)).spec.state, 'approved')
  assert.equal(outcomeOf(await robot.call('PUT', path, { spec }), 200).outcome, 'unchanged')
})

test('what takes away is done at once, and says why', async () => {
  const partner = await house.makePartner()
  const item = (await program.call('GET', '/admin/v1/partners?limit=100'))
    .json<{ items: Item[] }>()
    .items.find(({ status }) => status.branchId === partner.branchId)!
  const without = await program.call('PUT', pathOf(item.name), { spec: { state: 'suspended' } })
  assert.equal(without.status, 400)
  const answer = await program.call('PUT', `${pathOf(item.name)}?reason=Fraud`, {
    spec: { state: 'suspended' },
  })
  assert.deepEqual(outcomeOf(answer, 200).changes, [
    { field: 'spec.state', before: 'approved', after: 'suspended', proposed: false },
  ])
  assert.equal((await getPartner(db, String(partner.branchId))).statusReason, 'Fraud')
  const ended = outcomeOf(await program.call('DELETE', `${pathOf(item.name)}?reason=Gone`), 200)
  assert.equal(ended.outcome, 'unchanged')
})

test('a dry run tells all of it and does nothing', async () => {
  const name = `dry-${makeUpWord()}`
  const count = async () =>
    (
      await ask<{ rows: number }>(
        db,
        `SELECT (SELECT count(*) FROM partners) + (SELECT count(*) FROM proposals)
       + (SELECT count(*) FROM audit_entries) + (SELECT count(*) FROM notices) AS rows`,
      )
    )[0]!.rows
  const before = await count()
  const spec = { displayName: name, state: 'approved', refreshAccess: true }
  const dry = outcomeOf(await program.call('PUT', `${pathOf(name)}?dryRun=true`, { spec, owner: 'ci' }), 200)
  assert.equal(dry.outcome, 'created')
  assert.deepEqual(dry.proposals, [
    { id: 0, kind: 'partner.approve', isNew: true },
    { id: 0, kind: 'partner.refresh-access', isNew: true },
  ])
  assert.equal(await count(), before)
  assert.equal((await program.call('GET', pathOf(name))).status, 404)
})

test('of two who have read the same, one wins, and the other is told what moved', async () => {
  const name = `race-${makeUpWord()}`
  outcomeOf(await program.call('PUT', pathOf(name), { spec: { displayName: name } }), 201)
  const { etag } = await fetchItem(name)
  const answers = await Promise.all(
    ['declined', 'suspended'].map((state) =>
      program.call('PUT', `${pathOf(name)}?reason=No`, { spec: { state } }, { 'if-match': etag }),
    ),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412])
  const lost = answers.find(({ status }) => status === 412)!
  assert.deepEqual(lost.json<{ moved: unknown }>().moved, ['spec.state'])
  assert.equal((await program.call('PUT', pathOf(name), { spec: {} }, { 'if-none-match': '*' })).status, 412)
  assert.equal((await program.call('DELETE', `${pathOf(`no-${name}`)}?reason=x`)).status, 404)
  assert.equal(
    (await program.call('PUT', pathOf(`no-${name}`), { spec: {} }, { 'if-match': '*' })).status,
    412,
  )
})

test('two who make the same at once make one', async () => {
  const name = `twins-${makeUpWord()}`
  const body = { spec: { displayName: name } }
  const answers = await Promise.all([1, 2, 3].map(() => program.call('PUT', pathOf(name), body)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 201])
})

test('unknown fields, other names and values, and what another owner declares are refused by name', async () => {
  const name = `odd-${makeUpWord()}`
  const faults: [object, string][] = [
    [{ spec: { displayName: 'x', secret: 's' } }, 'spec.secret'],
    [{ spec: {}, extra: 1 }, 'extra'],
    [{ spec: {} }, 'spec.displayName'],
    [{ spec: { displayName: ' ' } }, 'spec.displayName'],
    [{ spec: { displayName: 'x', state: 'sold' } }, 'spec.state'],
    [{ spec: { displayName: 'x' }, owner: 'no owner' }, 'owner'],
  ]
  for (const [body, field] of faults) {
    const answer = await program.call('PUT', pathOf(name), body)
    assert.equal(answer.status, 400, answer.text)
    assert.equal(answer.json<{ fields: { field: string }[] }>().fields[0]!.field, field, answer.text)
  }
  assert.equal((await program.call('PUT', `${pathOf(name)}?dryrun=true`, { spec: {} })).status, 400)
  assert.equal((await program.call('PUT', pathOf('No'), { spec: { displayName: 'x' } })).status, 400)
  const large = { spec: { displayName: 'x'.repeat(1_100_000) } }
  assert.equal((await program.call('PUT', pathOf(name), large)).status, 413)
  outcomeOf(await program.call('PUT', pathOf(name), { spec: { displayName: name }, owner: 'us' }), 201)
  assert.equal((await program.call('PUT', pathOf(name), { spec: {}, owner: 'them' })).status, 409)
  assert.equal(outcomeOf(await program.call('PUT', pathOf(name), { spec: {} }), 200).outcome, 'unchanged')
})

test('a list goes on page by page, by name, and by owner', async () => {
  const owner = `owner-${makeUpWord()}`
  const names = ['a', 'b', 'c'].map((letter) => `${letter}-${makeUpWord()}`).sort()
  for (const name of names)
    outcomeOf(await program.call('PUT', pathOf(name), { spec: { displayName: name }, owner }), 201)
  const found: string[] = []
  let cursor: string | null = null
  do {
    const more: string = cursor === null ? '' : `&cursor=${cursor}`
    const answer = await program.call('GET', `/admin/v1/partners?limit=2&owner=${owner}${more}`)
    const page = answer.json<{ items: Item[]; next: string | null }>()
    found.push(...page.items.map(({ name }) => name))
    cursor = page.next
  } while (cursor !== null)
  assert.deepEqual(found, names)
})

test('everything that was made elsewhere has a name, also where two are called the same', async () => {
  await ask(
    db,
    `INSERT INTO partners (name, status, created_at, updated_at)
     VALUES ('Züri & Co', 'applied', now(), now()), ('Z-ri -- Co!', 'applied', now(), now()), ('株式会社', 'applied', now(), now())`,
  )
  const rows = await ask<{ name: string; called: string }>(
    db,
    `SELECT n.name, p.name AS called FROM object_names n JOIN partners p ON p.branch_id::text = n.object_id
     WHERE n.kind = 'partners' AND p.name IN ('Züri & Co', 'Z-ri -- Co!', '株式会社') ORDER BY p.branch_id`,
  )
  assert.equal(rows[0]!.name, 'z-ri-co')
  assert.match(rows[1]!.name, /^z-ri-co-[0-9a-f]{8}$/)
  assert.match(rows[2]!.name, /^[0-9a-f]{8}$/)
})

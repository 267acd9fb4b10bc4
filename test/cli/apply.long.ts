/** `countersign apply`, `diff` and `export` as processes of their own, against gateways: what they say, do and leave. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readPublicJwk } from '../../src/crypto/jwk.ts'
import { type AdminProgram, openAdminProgram } from '../support/administration.ts'
import { makeKey, type TestKey } from '../support/client-keys.ts'
import { type ConsoleSession, openConsole } from '../support/console.ts'
import {
  clientOf,
  type Documented,
  finishWith,
  folderOf,
  listOf,
  owner,
  partnersOf,
} from '../support/documents.ts'
import { openHouse, openTestGateway, type TestGateway } from '../support/gateway.ts'
import { keepOpen } from '../support/keep-open.ts'
import { makeFolder } from '../support/process.ts'

const house = await openHouse()
const program = await openAdminProgram(house)
const finish = (words: readonly string[], by = program, url?: string) => finishWith(by, words, url)
const namesOf = (label: string, kind?: string) => listOf(program, label, kind)

async function approveAll(decider: ConsoleSession, by: AdminProgram): Promise<void> {
  const open = await by.call('GET', '/admin/v1/proposals?open=true&limit=100')
  for (const { id } of open.json<{ items: { id: number }[] }>().items) {
    const page = await decider.browser.get(`/console/proposals/${id}`)
    await decider.browser.submit(page, `/console/proposals/${id}/approve`, {})
  }
}

test('applied twice, the second time changes nothing; diff tells drift by its code, and what it would take', async () => {
  const label = owner()
  const folder = folderOf([...partnersOf(label, 2), clientOf(`${label}-0`)])
  assert.equal((await finish(['diff', '-f', folder])).code, 2)
  const first = await finish(['apply', '-f', folder, '--yes'])
  assert.equal(first.code, 0, first.text)
  assert.match(first.stdout, /3 to create/)
  const second = await finish(['apply', '-f', folder, '--yes'])
  assert.deepEqual([second.code, second.stdout], [0, '3 unchanged.\n'], second.text)
  assert.equal((await finish(['diff', '-f', folder])).code, 0)
  const drift = { spec: { displayName: 'Renamed' } }
  assert.equal((await program.call('PUT', `/admin/v1/clients/${label}-0-app`, drift)).status, 200)
  const told = await finish(['diff', '-f', folder])
  assert.equal(told.code, 2, told.text)
  assert.match(told.stdout, /displayName: Renamed → /)
  assert.equal((await finish(['apply', '-f', folder, '--yes'])).code, 0)
  assert.equal((await finish(['diff', '-f', folder])).code, 0)
})

test('keys of a client are told by their thumbprints, before and after', async () => {
  const label = owner()
  const [first, second] = [makeKey(), makeKey()]
  const thumbprintOf = ({ publicJwk }: TestKey) => readPublicJwk(publicJwk).thumbprint
  const folderWith = (keys: readonly object[]) =>
    folderOf([...partnersOf(label, 1), clientOf(`${label}-0`, { jwks: { keys } })])
  const planOf = async (keys: readonly object[]) => {
    const told = await finish(['apply', '-f', folderWith(keys), '--yes'])
    assert.equal(told.code, 0, told.text)
    return told.stdout
  }
  assert.match(await planOf([first.publicJwk]), new RegExp(`spec\\.jwks: ${thumbprintOf(first)}\n`))
  assert.match(
    await planOf([second.publicJwk]),
    new RegExp(`spec\\.jwks: ${thumbprintOf(first)} → ${thumbprintOf(second)}\n`),
  )
  assert.match(await planOf([]), new RegExp(`spec\\.jwks: ${thumbprintOf(second)} → none\n`))
  const burnt = first.privateKey.export({ format: 'jwk' })
  const refused = await finish(['apply', '-f', folderWith([burnt]), '--yes'])
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /house\.yaml:\d+ .*spec\.jwks key 1 holds its private part/)
  assert.ok(!refused.text.includes(String(burnt.d)))
})

test('a private key goes nowhere: it is found in the files, and stands in no plan', async () => {
  const label = owner()
  const { d, ...open } = makeKey('ES256', { kid: 'mine' }).privateKey.export({ format: 'jwk' })
  const folder = folderOf([
    ...partnersOf(label, 1),
    clientOf(`${label}-0`, { jwks: { keys: [makeKey().publicJwk, { ...open, d }] } }),
  ])
  for (const words of [['diff'], ['apply', '--yes'], ['apply', '--dry-run', '--json']]) {
    const told = await finish([words[0]!, '-f', folder, ...words.slice(1)], program, 'http://127.0.0.1:1')
    assert.equal(told.code, 1, told.text)
    assert.match(
      told.stderr,
      /house\.yaml:3 \(document 2\): client .*: spec\.jwks key 2 holds its private part/,
    )
    assert.ok(!told.text.includes(d!))
  }
})

test('nobody is asked in a pipeline: without --yes nothing is done; a plan alone is no act', async () => {
  const label = owner()
  const folder = folderOf(partnersOf(label, 1))
  const dry = await finish(['apply', '-f', folder, '--dry-run'])
  assert.equal(dry.code, 0, dry.text)
  const unasked = await finish(['apply', '-f', folder])
  assert.equal(unasked.code, 2)
  assert.match(unasked.stderr, /say --yes/)
  assert.deepEqual(await namesOf(label), [])
})

test('what a house exports makes an empty house the same, when another person has approved it', async () => {
  const [from, to] = [await keepOpen(openTestGateway()), await keepOpen(openTestGateway())]
  const [here, there] = [await openAdminProgram(from), await openAdminProgram(to)]
  const [oneDecider, otherDecider] = [await openConsole(from, 'Dora One'), await openConsole(to, 'Dora Two')]
  await furnish(from, here, oneDecider)
  const exported = await finish(['export'], here)
  assert.equal(exported.code, 0, exported.text)
  for (const kind of ['partner', 'source', 'service', 'client', 'webhook'])
    assert.match(exported.stdout, new RegExp(`^kind: ${kind}$`, 'm'))
  const folder = makeFolder()
  writeFileSync(join(folder, 'house.yaml'), exported.stdout)
  // What is proposed on what was proposed before takes another turn.
  for (let turn = 0; turn < 4; turn++) {
    const applied = await finish(['apply', '-f', folder, '--yes'], there)
    assert.ok([0, 3].includes(applied.code!), applied.text)
    await approveAll(otherDecider, there)
  }
  const same = await finish(['diff', '-f', folder], there)
  assert.equal(same.code, 0, same.text)
  assert.equal((await finish(['export'], there)).stdout, exported.stdout)
})

async function furnish(from: TestGateway, by: AdminProgram, decider: ConsoleSession): Promise<void> {
  const label = 'platform'
  const documents = [
    ...partnersOf(label, 3, 'approved'),
    clientOf(`${label}-0`, {
      jwks: { keys: [makeKey('PS256', { kid: 'one' }).publicJwk, makeKey().publicJwk] },
    }),
    clientOf(`${label}-2`, { jwksUri: 'https://keys.invalid/jwks', profile: 'fapi2' }),
    clientOf(`${label}-1`, { scopes: ['read', 'trade'], scopesAtMost: ['read', 'market', 'trade'] }),
    { kind: 'source', name: 'ledger', owner: label, spec: { roles: [] } },
    {
      kind: 'service',
      name: 'books',
      owner: label,
      spec: { displayName: 'Books', mayProvision: ['ledger'] },
    },
    {
      ...{ kind: 'webhook', name: 'hook', owner: label },
      spec: { partner: `${label}-0`, url: 'https://app.example/hook', description: 'Yes: no' },
    },
    { kind: 'partner', name: 'nobodys', spec: { displayName: 'Nobody’s: “a” #1 \\ é' } },
  ]
  const folder = folderOf(documents)
  for (let turn = 0; turn < 4; turn++) {
    const { code, text } = await finish(['apply', '-f', folder, '--yes'], by)
    assert.ok([0, 3].includes(code!), text)
    await approveAll(decider, by)
  }
  await from.makePartner({ refresh: true })
}

test('--prune ends what carries the same label and stands nowhere, and nothing of anybody else', async () => {
  const [label, other] = [owner(), owner()]
  const all = partnersOf(label, 3)
  const folder = folderOf([...all, ...partnersOf(other, 1), { ...partnersOf(other, 2)[1]!, owner: null }])
  assert.equal((await finish(['apply', '-f', folder, '--yes'])).code, 0)
  const less = folderOf(all.slice(0, 2))
  const shown = await finish(['apply', '-f', less, '--yes'])
  assert.equal(shown.code, 0, shown.text)
  assert.match(shown.stdout, new RegExp(`- partner ${label}-2: would be pruned: say --prune`))
  assert.equal((await namesOf(label)).length, 3)
  const pruned = await finish(['apply', '-f', less, '--yes', '--prune'])
  assert.equal(pruned.code, 0, pruned.text)
  assert.deepEqual(
    (await namesOf(label)).map(({ name }) => name),
    [`${label}-0`, `${label}-1`],
  )
  assert.equal((await namesOf(other)).length, 1)
  const { spec } = (await program.call('GET', `/admin/v1/partners/${other}-1`)).json<Documented>()
  assert.notEqual(spec.state, 'suspended')
  const nobodys = folderOf([{ kind: 'partner', name: `${other}-1`, spec: {} }])
  const unowned = await finish(['apply', '-f', nobodys, '--yes', '--prune'])
  assert.equal(unowned.code, 2)
  assert.match(unowned.stderr, /say whose/)
})

test('what gives power becomes a proposal, once, which is named; the house is as said when another person approved it', async () => {
  const label = owner()
  const decider = await openConsole(house, 'Dora Decider')
  const folder = folderOf(partnersOf(label, 1, 'approved'))
  const first = await finish(['apply', '-f', folder, '--yes', '--reason', 'Ticket 12'])
  assert.equal(first.code, 0, first.text)
  const [, id] = /proposal (\d+) \(partner\.approve\): waits for another person/.exec(first.stdout)!
  assert.equal((await finish(['diff', '-f', folder])).code, 2)
  const again = await finish(['apply', '-f', folder, '--yes'])
  assert.equal(again.code, 0, again.text)
  assert.match(again.stdout, /proposed already/)
  const page = await decider.browser.get(`/console/proposals/${id}`)
  assert.match(page.text, /Ticket 12/)
  await decider.browser.submit(page, `/console/proposals/${id}/approve`, {})
  assert.equal((await finish(['diff', '-f', folder])).code, 0)
})

test('what names what is only proposed is left, with code 3', async () => {
  const label = owner()
  const spec = { displayName: `S ${label}`, mayProvision: [label] }
  const folder = folderOf([
    { kind: 'service', name: label, owner: label, spec },
    { kind: 'source', name: label, owner: label, spec: { roles: [] } },
  ])
  const first = await finish(['apply', '-f', folder, '--yes'])
  assert.equal(first.code, 3, first.text)
  assert.match(first.stdout, /proposal \d+ \(source\.create\)/)
  assert.match(first.stderr, new RegExp(`Left: service ${label} \\(waits for source ${label}`))
  assert.deepEqual(await namesOf(label, 'services'), [])
})

test('every fault is told at once, by its file, its line and its field, and nothing is done', async () => {
  const label = owner()
  const folder = makeFolder()
  mkdirSync(join(folder, 'below'))
  const partner = `kind: partner\nname: ${label}\nspec:\n  displayName: X\n`
  writeFileSync(join(folder, 'a.yaml'), `${partner}---\nkind: partnr\nname: b\n`)
  writeFileSync(join(folder, 'below', 'b.yml'), `${partner}status: {}\n`)
  writeFileSync(join(folder, 'c.json'), `{"kind": "client", "name": 5, "spec": []}`)
  const told = await finish(['apply', '-f', folder, '--yes'])
  assert.equal(told.code, 1, told.text)
  for (const fault of [
    /a\.yaml:6 \(document 2\): kind must be one of .*Did you mean/,
    /b\.yml:5 \(document 1\): status is what the gateway says/,
    /c\.json:1 \(document 1\): name must be a text/,
    /c\.json:1 \(document 1\): spec must hold fields/,
  ])
    assert.match(told.stderr, fault)
  const twice = folderOf([...partnersOf(label, 1), ...partnersOf(label, 1)])
  assert.match(
    (await finish(['apply', '-f', twice, '--yes'])).stderr,
    /house\.yaml:3 \(document 2\): partner .* stands in .*house\.yaml:1 \(document 1\) already/,
  )
  const unknown = makeFolder()
  writeFileSync(
    join(unknown, 'd.yaml'),
    `kind: partner\nname: ${label}\nspec:\n  displayName: X\n  colour: red\n---\nkind: client\nname: ${label}-app\nspec:\n  displayName: Y\n  callbackUrl: https://y.example/\n  scopes: [read]\n  partner: nobody-${label}\n`,
  )
  const judged = await finish(['apply', '-f', unknown, '--yes'])
  assert.equal(judged.code, 1, judged.text)
  assert.match(judged.stderr, /d\.yaml:5 \(document 1\): partner .*: spec\.colour/)
  assert.match(judged.stderr, /d\.yaml:13 \(document 2\): client .*: spec\.partner/)
  assert.deepEqual((await program.call('GET', `/admin/v1/partners/${label}`)).status, 404)
})

test('a credential that may not, one that has ended, and an address that is no gateway are told in words', async () => {
  const folder = folderOf(partnersOf(owner(), 1))
  const viewer = await openAdminProgram(house, { role: 'viewer' })
  const refused = await finish(['apply', '-f', folder, '--yes'], viewer)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /partners\.manage/)
  const unknown = await finish(['diff', '-f', folder], { ...program, credential: 'cslmxxxx' })
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /credential is missing, unknown/)
  const away = await finish(['diff', '-f', folder], program, 'http://127.0.0.1:9')
  assert.equal(away.code, 1)
})

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { findNamed, keyOf, printSpot } from './document.ts'
import { parseDocuments, readDocuments } from './read-documents.ts'

const folder = mkdtempSync(join(tmpdir(), 'documents-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const acme = `# who they are
kind: partner
name: acme
owner: platform
spec:
  displayName: Acme "Portfolio"
  state: approved
`

test('a document is a kind, a name, an owner and what is said of the thing', async () => {
  const { documents, faults } = await parseDocuments('live/acme.yaml', acme)
  assert.deepEqual(faults, [])
  assert.equal(documents.length, 1)
  const { kind, name, owner, spec, spot } = documents[0]!
  assert.deepEqual(
    { kind, name, owner, spec },
    {
      kind: 'partner',
      name: 'acme',
      owner: 'platform',
      spec: { displayName: 'Acme "Portfolio"', state: 'approved' },
    },
  )
  assert.equal(printSpot(spot), 'live/acme.yaml:2 (document 1)')
  assert.equal(printSpot(spot, 'spec.state'), 'live/acme.yaml:7 (document 1)')
})

test('a file may hold several, JSON as a list; an empty one counts as none', async () => {
  const yaml = await parseDocuments('a.yaml', `${acme}---\n---\n# nothing\n---\nkind: source\nname: core\n`)
  assert.deepEqual(yaml.documents.map(keyOf), ['partner acme', 'source core'])
  assert.equal(yaml.documents[1]!.spot.number, 2)
  const list = [
    { kind: 'partner', name: 'acme' },
    { kind: 'source', name: 'core', owner: null },
  ]
  const json = await parseDocuments('a.json', JSON.stringify(list, null, '\t'))
  assert.deepEqual(json.faults, [])
  assert.deepEqual(
    json.documents.map((each) => [keyOf(each), each.owner]),
    [
      ['partner acme', undefined],
      ['source core', null],
    ],
  )
})

test('words stay what they are: no is no boolean, a date is a text', async () => {
  const { documents } = await parseDocuments(
    'a.yaml',
    'kind: client\nname: app\nspec: {a: no, b: 2026-01-31, c: 12, d: "12"}\n',
  )
  assert.deepEqual(documents[0]!.spec, { a: 'no', b: '2026-01-31', c: 12, d: '12' })
})

test('what is wrong is told with file, line, document and remedy', async () => {
  const wrong = `kind: cleint
name: 12
spec: [1]
scopes: read
status: {}
---
just words
---
kind: partner
owner: 3
`
  const { documents, faults } = await parseDocuments('b.yaml', wrong)
  assert.deepEqual(documents, [])
  const kinds = 'partner, source, service, client, webhook, provider, role-map'
  assert.deepEqual(faults, [
    `b.yaml:1 (document 1): kind must be one of ${kinds}. Did you mean client?`,
    'b.yaml:2 (document 1): name must be a text: write "12" in quotes',
    'b.yaml:3 (document 1): spec must hold fields and values',
    'b.yaml:4 (document 1): scopes is no field of a document. It has kind, name, owner and spec; what you say of it goes into spec',
    'b.yaml:5 (document 1): status is what the gateway says: leave it out',
    'b.yaml:7 (document 2): must be fields and values, such as kind: partner',
    'b.yaml:9 (document 3): name is missing: the name that you choose for it, such as acme',
    'b.yaml:10 (document 3): owner must be a text, such as platform, or null for none',
  ])
})

test('a file that is no YAML says nothing, and a field that comes twice is refused', async () => {
  const { documents, faults } = await parseDocuments(
    'c.yaml',
    `${acme}---\nkind: source\nkind: partner\nname: {\n`,
  )
  assert.deepEqual(documents, [])
  assert.match(faults.join('\n'), /^c\.yaml:10: Map keys must be unique$/m)
  assert.ok(faults.every((fault) => /^c\.yaml:\d+: /.test(fault)))
})

test('a tag makes nothing, and neither a prototype nor a bomb of aliases goes off', async () => {
  const tagged = await parseDocuments('d.yaml', 'kind: !!js/function x\nname: y\n')
  assert.match(tagged.faults[0]!, /^d\.yaml:1: Unresolved tag/)
  const named = await parseDocuments(
    'd.yaml',
    'kind: partner\nname: x\nspec: {__proto__: {state: approved}}\n',
  )
  const { spec } = named.documents[0]!
  assert.deepEqual([Object.keys(spec), spec.state], [['__proto__'], undefined])
  const lines = Array.from({ length: 9 }, (_, at) =>
    at === 0
      ? 'a0: &a0 [x]'
      : `a${at}: &a${at} [${Array(9)
          .fill(`*a${at - 1}`)
          .join(', ')}]`,
  )
  const bomb = await parseDocuments('d.yaml', `kind: partner\nname: x\nspec:\n  ${lines.join('\n  ')}\n`)
  assert.match(bomb.faults[0]!, /^d\.yaml:1 \(document 1\): Excessive alias count/)
})

test('a folder is read with those below it, by name; what is hidden is not for us', async () => {
  mkdirSync(join(folder, 'live', '.git'), { recursive: true })
  writeFileSync(join(folder, 'live', 'b.yml'), 'kind: source\nname: core\n')
  writeFileSync(join(folder, 'live', 'a.json'), '{"kind": "partner", "name": "acme"}')
  writeFileSync(join(folder, 'live', 'README.md'), 'kind: nothing')
  writeFileSync(join(folder, 'live', '.git', 'x.yaml'), 'kind: nothing')
  mkdirSync(join(folder, 'empty'))
  assert.deepEqual((await readDocuments(folder)).map(keyOf), ['partner acme', 'source core'])
  assert.deepEqual((await readDocuments(join(folder, 'live', 'b.yml'))).map(keyOf), ['source core'])
  writeFileSync(join(folder, 'live', 'c.yaml'), 'kind: source\nname: core\n')
  await assert.rejects(
    readDocuments(folder),
    /c\.yaml:1 \(document 1\): source core stands in .*b\.yml:1 \(document 1\) already$/,
  )
  await assert.rejects(
    readDocuments(join(folder, 'empty')),
    /has no file that ends in \.yaml, \.yml, \.json$/,
  )
  writeFileSync(join(folder, 'live', 'c.yaml'), '#'.repeat(1_048_577))
  await assert.rejects(readDocuments(folder), /c\.yaml: is larger than 1 MiB: divide it/)
})

test('what a document names has to be there before it', () => {
  assert.deepEqual(findNamed({ kind: 'webhook', name: 'orders', spec: { partner: 'acme', client: 'app' } }), [
    'partner acme',
    'client app',
  ])
  assert.deepEqual(findNamed({ kind: 'service', name: 'core', spec: { mayProvision: ['core', 'crm'] } }), [
    'source core',
    'source crm',
  ])
  assert.deepEqual(findNamed({ kind: 'role-map', name: 'entra', spec: {} }), ['provider entra'])
  assert.deepEqual(findNamed({ kind: 'provider', name: 'okta', spec: { linkSource: null } }), [])
})

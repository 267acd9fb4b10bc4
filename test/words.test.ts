/** What comments and pages name is where they say: sections of the interface, files, words of the trade. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { describeKeys, describeRecord, kinds } from '../src/provisioning/record.ts'
import { permissions, permissionsOf, rolesWith, staffRoles } from '../src/vocabulary/permission.ts'
import { bodies } from '../src/webhooks/subscriptions/catalogue.ts'
import { oldWords } from './support/old-words.ts'

const folders = ['src', 'resource', 'test', 'bench', 'docs', 'migrations', 'public', 'ops', 'bin']
const files = folders.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
)
const sources = files.filter((name) => /^(?:src|resource|test|bench)\/.*\.ts$/.test(name))
const interfacePage = readFileSync('docs/interface.md', 'utf8')
const sections = new Set(
  [...interfacePage.matchAll(/^#{2,3} (\d+(?:\.\d+)?)\.? /gm)].map((match) => match[1]!),
)

/** “Spec 4.3 and 4.4” names both. */
function sectionsNamedIn(text: string): string[] {
  const mentions = text.matchAll(/\b[Ss]pec (\d+(?:\.\d+)*)(?:(?:,| and|, and) (\d+(?:\.\d+)*)(?! ?%))*/g)
  return [...mentions].flatMap(([mention]) => mention.match(/\d+(?:\.\d+)*/g)!)
}

/** By its whole path, by its path in src, or by its end. */
function find(path: string): string | undefined {
  const whole = [path, `src/${path}`].find((each) => files.includes(each))
  return whole ?? files.find((name) => name.endsWith(`/${path}`))
}

function tableUnder(page: string, heading: string): string[][] {
  const [, after = ''] = page.split(`\n## ${heading}\n`)
  const lines = after.split(/\n## /)[0]!.split('\n')
  const rows = lines.filter((line) => line.startsWith('| ')).map((line) => line.split('|').slice(1, -1))
  return rows.map((cells) => cells.map((cell) => cell.trim()))
}

function codeIn(text: string): string[] {
  return [...text.replaceAll(/```[\s\S]*?```/g, '').matchAll(/`([^`]+)`/g)].map((match) => match[1]!)
}

test('every section of the specification that a comment names is a heading of docs/interface.md', () => {
  assert.deepEqual(sectionsNamedIn('Spec 4.3 and 4.4: x; Spec 2, 6 and 8'), ['4.3', '4.4', '2', '6', '8'])
  let mentions = 0
  for (const file of sources) {
    for (const section of sectionsNamedIn(readFileSync(file, 'utf8'))) {
      assert.ok(sections.has(section), `${file}: Spec ${section}`)
      mentions++
    }
  }
  assert.ok(mentions > 30, 'mentions are found')
})

test('the tests that are numbered like the specification have a section there', () => {
  const numbers = files
    .filter((name) => name.startsWith('test/spec/'))
    .map((name) => /^(\d[\d.]*)-/.exec(basename(name)))
  const named = numbers.flatMap((match) => (match ? [match[1]!] : []))
  assert.ok(named.length > 10)
  for (const number of named) assert.ok(sections.has(number), number)
})

test('docs/interface.md lists the fields and the actions of each kind as they are', () => {
  const [fields, actions] = [
    tableUnder(interfacePage, '2. Resources'),
    tableUnder(interfacePage, '3. States and transitions'),
  ]
  for (const [kind, { properties }] of Object.entries(bodies)) {
    const rowOf = (rows: string[][]) => codeIn(rows.find(([name]) => name === `\`${kind}\``)?.[1] ?? '')
    const words = (properties.action as { enum?: string[] }).enum!
    const named = rowOf(fields).filter((name) => !/^[A-Z]/.test(name))
    assert.deepEqual(named, Object.keys(properties), kind)
    assert.deepEqual(rowOf(actions), words, kind)
  }
})

test('docs/console.md lists the permissions of each role as they are, and of administrators those that nobody else has', () => {
  const rows = tableUnder(readFileSync('docs/console.md', 'utf8'), 'Roles')
  const alone = permissions.filter((each) => rolesWith(each).length === 1)
  const ofAdministrators = alone.filter((each) => rolesWith(each).includes('administrator'))
  for (const role of staffRoles) {
    const named = codeIn(rows.find(([name]) => name === role.replace('-', ' '))?.at(-1) ?? '')
    const expected = role === 'administrator' ? ofAdministrators : permissionsOf[role]
    assert.deepEqual(named.toSorted(), [...expected].toSorted(), role)
  }
})

test('docs/provisioning.md lists the fields of each kind of record, and which are required, as they are', () => {
  let kind = ''
  const listed = tableUnder(readFileSync('docs/provisioning.md', 'utf8'), 'Fields').slice(1)
  const told = listed.map(([ofKind, field, needed]) => {
    kind = codeIn(ofKind!)[0] ?? kind
    return `${kind} ${codeIn(field!)[0]} ${needed}`
  })
  const there = kinds.flatMap((each) =>
    [describeKeys(each), describeRecord(each)].flatMap(({ properties, required = [] }) =>
      Object.keys(properties).map(
        (name) => `${each} ${name} ${(required as readonly string[]).includes(name) ? 'required' : ''}`,
      ),
    ),
  )
  assert.deepEqual(told.toSorted(), there.toSorted())
})

test('every file that ARCHITECTURE.md or CONTRIBUTING.md names exists', () => {
  for (const page of ['ARCHITECTURE.md', 'CONTRIBUTING.md']) {
    const named = codeIn(readFileSync(page, 'utf8')).filter((code) => /^\w[\w./-]*\.(?:ts|sql)$/.test(code))
    assert.ok(named.length > 10, page)
    for (const path of named) assert.ok(find(path), `${page}: ${path}`)
  }
})

test('every word of the trade in the glossary stands in the file that the glossary names', () => {
  const rows = tableUnder(readFileSync('ARCHITECTURE.md', 'utf8'), 'Glossary').filter(([, , where]) =>
    where!.startsWith('`'),
  )
  assert.ok(rows.length > 20)
  for (const [, words, where] of rows) {
    const file = find(codeIn(where!)[0]!)
    const text = readFileSync(file!, 'utf8')
      .replace(/\s+\*?\s*/g, ' ')
      .toLowerCase()
    for (const word of words!.split(', ')) assert.ok(text.includes(word.toLowerCase()), `${file}: ${word}`)
  }
})

/** Without comments, and without what is a value of the interface or of a table. */
function wordsOf(file: string): string {
  const text = readFileSync(file, 'utf8')
  if (!file.endsWith('.ts')) return text
  const code = text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '')
  return code.replaceAll(/'(?:breaker open|given up|test hooks|refused calls)'/g, '')
}

const spoken = [
  'README.md',
  ...['console', 'delivery', 'interface', 'operating', 'portal'].map((page) => `docs/${page}.md`),
  ...files.filter((name) => /^src\/(?!.*\.(?:test|sql)\.ts$).*\.ts$|^public\/.*\.js$/.test(name)),
]

test('no page, message, command or document says a word that was replaced', () => {
  assert.ok(spoken.length > 200)
  const found = spoken.flatMap((file) => {
    const text = wordsOf(file)
    return oldWords.flatMap(([old, then]) => {
      const word = old.exec(text)?.[0]
      return word === undefined ? [] : [`${file}: “${word}” is now “${then}”`]
    })
  })
  assert.deepEqual(found, [])
})

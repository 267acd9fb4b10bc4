/** docs/security.md links the tests that prove it, and names files and settings: all of them are there. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { settings, table } from '../../src/settings/table.ts'

const page = readFileSync('docs/security.md', 'utf8')
const linked = new Set([...page.matchAll(/\]\(([^)#\s]+)/g)].map((match) => join('docs', match[1]!)))
const code = [...page.replaceAll(/```[\s\S]*?```/g, '').matchAll(/`([^`]+)`/g)].map((match) => match[1]!)

/** The rows of every table that has this in its head, each as its cells. */
function rowsOf(head: string): string[][] {
  const tables = page.match(/(?:^\|.*\n)+/gm)!.map((text) => text.trimEnd().split('\n'))
  const rows = tables.filter(([first]) => first === head).flatMap(([, , ...rest]) => rest)
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

test('every threat has what holds it, and links a test that exists', () => {
  const threats = rowsOf('| Threat | What holds it | Test |')
  assert.ok(threats.length > 35, `${threats.length} rows`)
  for (const row of threats) {
    const [threat, holds, tests, ...rest] = row as [string, string, string]
    assert.ok(threat !== '' && holds !== '' && rest.length === 0, row.join(' | '))
    assert.match(
      tests,
      /^\[[^\]]+\]\([^)]+\.(?:test|long)\.ts\)(?:, \[[^\]]+\]\([^)]+\.(?:test|long)\.ts\))*$/,
    )
  }
  for (const path of linked) assert.ok(existsSync(path), path)
})

test('a linked test is called by the name of its file', () => {
  for (const [, label, path] of page.matchAll(/\[([^\]]+)\]\(([^)]+\.(?:test|long)\.ts)\)/g)) {
    const name = path!.split('/').at(-1)!
    assert.ok([name, name.replace(/\.(?:test|long)\.ts$/, '')].includes(label!), `${label} is ${path}`)
  }
})

test('every test of this folder is linked', () => {
  const tests = readdirSync('test/security').map((name) => join('test/security', name))
  assert.deepEqual(
    tests.filter((path) => !linked.has(path)),
    [],
  )
})

test('the files and settings that it names exist, and every limit that can be set is there', () => {
  const names: readonly string[] = settings.map(({ name }) => name)
  const limits = rowsOf('| What | Limit | Where |').map((row) => row.at(-1)!)
  assert.ok(limits.length > 10, `${limits.length} rows`)
  for (const where of limits) assert.match(where, /^`[^`]+`(?:, `[^`]+`)*$/)
  for (const name of code.filter((each) => /^[A-Z]+(?:_[A-Z]+)+$/.test(each)))
    assert.ok(names.includes(name), name)
  for (const path of code.filter((each) => /^[\w./-]+\.ts$/.test(each)))
    assert.ok(existsSync(join('src', path)), path)
  for (const { name } of Object.values(table.limits.rows))
    assert.ok(
      limits.some((where) => where.includes(`\`${name}\``)),
      `${name} has no row`,
    )
})

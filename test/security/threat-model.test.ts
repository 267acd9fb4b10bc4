/** docs/security.md names a test beside each of its claims. Every one of them must exist. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const page = readFileSync('docs/security.md', 'utf8')

/** The rows of the tables under a heading, each as its cells. */
function rowsUnder(heading: string): string[][] {
  const start = page.indexOf(`\n## ${heading}\n`)
  assert.ok(start >= 0, heading)
  const section = page.slice(start + 1).split(/\n(?=## )/)[0]!
  const lines = section.split('\n').filter((line) => line.startsWith('|') && !/^\|[-|]+$/.test(line))
  return lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

/** Paths are under `test/` unless they begin with `src/`. */
function fileOf(name: string): string {
  const path = `${name.startsWith('src/') ? '' : 'test/'}${name}`
  return existsSync(`${path}.long.ts`) && !existsSync(`${path}.test.ts`) ? `${path}.long.ts` : `${path}.test.ts`
}

function holdsTitle(file: string, title: string): boolean {
  const text = readFileSync(file, 'utf8')
  return [`'${title}'`, `"${title}"`, `\`${title}\``].some((quoted) => text.includes(quoted))
}

for (const heading of ['Who attacks, and across which line', 'RFC 9700, item by item', 'Limits on everything']) {
  test(`${heading}: each row names a test that exists`, () => {
    const [, ...rows] = rowsUnder(heading)
    assert.ok(rows.length >= 20, `${rows.length} rows`)
    for (const row of rows) {
      const [, name, title] = /^`([\w./-]+)`: “([^”]+)”$/.exec(row.at(-1)!) ?? []
      assert.ok(name !== undefined && title !== undefined, row.join(' | '))
      assert.ok(existsSync(fileOf(name)), `${row[0]}: there is no ${fileOf(name)}`)
      assert.ok(holdsTitle(fileOf(name), title), `${row[0]}: ${name} has no test “${title}”`)
    }
  })
}

test('RFC 9700 is answered from 2.1 to 2.6 and from 4.1 to 4.17, without a gap', () => {
  const answered = rowsUnder('RFC 9700, item by item').map(([section]) => section!)
  const attacks = Array.from({ length: 17 }, (_, place) => `4.${place + 1}`)
  const advice = ['2.1', '2.1.1', '2.1.2', '2.2.1', '2.2.2', '2.3', '2.4', '2.5', '2.6']
  assert.deepEqual(answered.slice(1), [...advice, ...attacks])
})

test('the files that the promises line by line name exist', () => {
  const rows = rowsUnder('The authorization server, line by line')
  const names = rows.flatMap((row) => [
    ...row.at(-1)!.matchAll(/\b(?:src|spec|security|web|faults|audit)\/[\w./-]*\w/g),
  ])
  assert.ok(names.length > 30, `${names.length} names`)
  for (const [name] of names) assert.ok(existsSync(fileOf(name.replace(/\.test$/, ''))), name)
})

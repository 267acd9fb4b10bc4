/** What the pages for operators say is what the code does: its settings, its commands, its files. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { printMarkdown } from '../../src/cli/settings.ts'
import { runCommand } from '../support/process.ts'

const pages = ['README.md', 'ARCHITECTURE.md', ...findFiles('docs', '.md')]

function findFiles(folder: string, ending: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith(ending)).map((name) => join(folder, name))
}

test('the table of settings is the one that the code prints', () => {
  const page = readFileSync('docs/operating.md', 'utf8')
  const [, table] = /<!-- countersign settings --markdown -->\n([\s\S]*?)\n<!-- end -->/.exec(page) ?? []
  assert.equal(table, printMarkdown(), 'replace the table by what "countersign settings --markdown" prints')
})

test('every command that a page or an alert names exists', async () => {
  const overview = (await runCommand(['help'], {})).stdout
  const commands = new Set([...overview.matchAll(/^ {2}(\w+(?: [\w-]+)?) {2}/gm)].map((match) => match[1]!))
  const groups = new Set([...commands].map((name) => name.split(' ')[0]!))
  for (const file of [...pages, ...findFiles('ops', '')].filter((name) =>
    /\.(md|ya?ml|service)$/.test(name),
  )) {
    const text = readFileSync(file, 'utf8')
    for (const [, group, verb] of text.matchAll(/["`\s]countersign (?:(\w+) ([a-z][\w-]*))/g)) {
      if (!groups.has(group!)) continue
      assert.ok(
        commands.has(group!) || commands.has(`${group} ${verb}`),
        `${file}: countersign ${group} ${verb}`,
      )
    }
  }
})

test('what the domain says to everybody names no command: the command line adds that', () => {
  const rooms = ['oauth', 'webhooks', 'users', 'partners', 'services', 'audit', 'notices']
  const files = rooms.flatMap((room) => findFiles(join('src', room), '.ts'))
  assert.ok(files.length > 100)
  for (const file of files)
    assert.doesNotMatch(readFileSync(file, 'utf8'), /['"`][^'"`\n]*countersign [a-z]+ [a-z-]+/, file)
})

test('links between pages lead somewhere', () => {
  for (const page of pages) {
    const links = [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#\s]+)/g)].map(
      (match) => match[1]!,
    )
    for (const link of links) assert.ok(existsSync(join(dirname(page), link)), `${page}: ${link}`)
  }
})

/**
 * What runs in production is installed there: `npm ci --omit=dev` brings every package that the sources
 * import.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'

function findImports(): Set<string> {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  )
  const texts = files.map((name) => readFileSync(join('src', name), 'utf8'))
  const specifiers = texts.flatMap((text) => [...text.matchAll(/(?:^import|\bfrom) '([^'.][^']*)'$/gm)])
  return new Set(specifiers.map((match) => match[1]!))
}

test('every package that the sources import is a dependency, not one of development', () => {
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const packages = [...findImports()].filter((name) => !isBuiltin(name)).map(packageOf)
  assert.ok(packages.includes('pg') && packages.includes('typebox'))
  assert.deepEqual(
    packages.filter((name) => !(name in dependencies)),
    [],
  )
})

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

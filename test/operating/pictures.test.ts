/** Every picture that a page shows exists, and every picture is shown somewhere and can be made anew. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { pictures } from '../pictures/pictures.ts'

const root = new URL('../../', import.meta.url)
const shown = ['README.md', ...readdirSync(new URL('docs/', root)).map((name) => `docs/${name}`)]
  .filter((path) => path.endsWith('.md'))
  .flatMap((path) => [...readFileSync(new URL(path, root), 'utf8').matchAll(/pictures\/([\w-]+)\.png/g)])
  .map((match) => match[1]!)

test('each picture of the docs is made by `npm run screenshots`, is there, and is shown', () => {
  const made = pictures.map(({ name }) => name).toSorted()
  const there = readdirSync(new URL('docs/pictures/', root)).map((name) => name.replace(/\.png$/, ''))
  assert.deepEqual(there.toSorted(), made)
  assert.deepEqual([...new Set(shown)].toSorted(), made)
})

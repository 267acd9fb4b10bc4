/** No test is left out: each file of tests is in one of the sets that `.ci/run` runs, once. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }

/** Runs once more, on another PostgreSQL, what other batches run. */
const repeated = 'test/batches/long/system-postgres.ts'

/** What a text names in quotes, as files; of those that run others together, the others. */
function filesIn(text: string, quoted: RegExp): string[] {
  return globSync([...text.matchAll(quoted)].map((match) => match[1]!))
    .filter((file) => file !== repeated)
    .flatMap((file) => (file.startsWith('test/batches/') ? filesOfBatch(file) : [file]))
}

function filesOfBatch(file: string): string[] {
  return filesIn(readFileSync(file, 'utf8'), /'([^']+\.(?:test|long)\.ts)'/g)
}

/** Those of `node --test`, each with its files. */
const sets = Object.entries(scripts)
  .filter(([, command]) => / --test /.test(command))
  .map(([name, command]) => ({ name, files: filesIn(command, /"([^"]+)"/g) }))

test('every file of tests is in exactly one set, and there once', () => {
  const files = globSync(['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts'])
  const tests = files.filter((file) => /\.(test|long)\.ts$/.test(file))
  assert.ok(tests.length > 180, `${tests.length} files`)
  assert.deepEqual(sets.flatMap((set) => set.files).sort(), tests.sort())
  assert.ok(filesOfBatch(repeated).length > 10)
})

test('.ci/run runs every set', () => {
  const lines = readFileSync('.ci/run', 'utf8').split('\n')
  assert.deepEqual(
    sets.map((set) => set.name),
    ['test', 'test:long'],
  )
  for (const { name } of sets)
    assert.ok(lines.includes(`tests npm ${name === 'test' ? '' : 'run '}${name}`), name)
})

test('whatever holds tests says so in its name', () => {
  const others = globSync(['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts']).filter(
    (file) => !/\.(test|long)\.ts$/.test(file) && /^(test|describe)\(/m.test(readFileSync(file, 'utf8')),
  )
  assert.deepEqual(others, [])
})

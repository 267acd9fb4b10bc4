/**
 * The mistakes that are made on purpose follow the code: those of the model are made in it too, and each can
 * be made as it stands. That each is found is the matter of the `.long.ts`.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { laneMutants, mutated } from './lane-mutants.ts'
import { mutants } from './model/mutants.ts'
import { scriptOf, sqlMutants } from './sql-mutants.ts'

test('each mistake of the model is made in the kernel or in what calls it', () => {
  const missing = Object.keys(mutants).filter((name) => !(name in sqlMutants || name in laneMutants))
  assert.deepEqual(missing, [])
})

test('what a mistake replaces is there, and the test that finds it', () => {
  for (const name of Object.keys(sqlMutants)) assert.notEqual(scriptOf(name), '', name)
  for (const [name, { caughtBy }] of Object.entries(laneMutants)) {
    const [file, title] = caughtBy
    assert.ok(mutated(name))
    assert.ok(
      readFileSync(new URL(file, import.meta.url), 'utf8').includes(`'${title}'`),
      `${file}: ${title}`,
    )
  }
})

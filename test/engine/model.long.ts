/** Every scene whole, and once more with more faults where that ends; and each mistake of the rules is found. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explore } from './model/explorer.ts'
import { type Mutant, mutants } from './model/mutants.ts'
import { deepen, getScene, scenes } from './model/scenes.ts'

/** What is larger is walked through as far as this. */
const deepLimit = 5_000

for (const scene of scenes)
  test(`the rules hold in every order: ${scene.name} (${scene.about})`, (t) => {
    const { states, whole, failure } = explore(scene)
    t.diagnostic(`${states} states`)
    assert.deepEqual({ whole, failure }, { whole: true, failure: undefined })
  })

for (const scene of scenes)
  test(`the rules hold with more faults: ${scene.name}`, (t) => {
    const { states, whole, failure } = explore(deepen(scene), undefined, deepLimit)
    t.diagnostic(`${states} states${whole ? '' : ', not all'}`)
    assert.equal(failure, undefined)
  })

test('each mutant of the rules is caught by its scene', async (t) => {
  for (const [name, [scene, about]] of Object.entries(mutants))
    await t.test(`${name}: ${about}`, () => {
      const { failure } = explore(getScene(scene), name as Mutant)
      assert.match(failure?.what ?? 'it survives', /^S\d+: /)
    })
})

/**
 * The rules of the engine, in every order of its steps: the small scenes here, all of them in model.long.ts.
 * Another program prints a counterexample: model/main.ts.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explore } from './model/explorer.ts'
import { scenes } from './model/scenes.ts'

for (const scene of scenes.filter(({ quick }) => quick))
  test(`the rules hold in every order: ${scene.name} (${scene.about})`, (t) => {
    const { states, whole, failure } = explore(scene)
    t.diagnostic(`${states} states`)
    assert.deepEqual({ whole, failure }, { whole: true, failure: undefined })
  })

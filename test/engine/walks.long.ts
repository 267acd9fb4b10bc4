/**
 * Thousands of walks, the same in each run, so that a change alone can break it. `WALK_SEED` plays others.
 */
import { test } from 'node:test'
import { citusUrl } from '../support/citus.ts'
import { openTestDatabase } from '../support/database.ts'
import { keepOpen } from '../support/keep-open.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { largeScenes, scenes } from './model/scenes.ts'
import { openHouse } from './stage.ts'
import { walk } from './walks.ts'

/** On a Citus a step takes longer. */
const walksOfScene = citusUrl === undefined ? 50 : 10

const { url } = await keepOpen(await openTestDatabase())
const house = await openHouse(await keepOpen(openLenientDatabase({ connectionString: url, connections: 6 })))
const first = Number(process.env.WALK_SEED ?? 1)

for (const scene of [...scenes, ...largeScenes])
  test(`model and database hold the same after each step: ${scene.name} (${scene.about})`, async (t) => {
    t.diagnostic(`from seed ${first}`)
    let commits = 0
    for (let seed = first; seed < first + walksOfScene; seed++) commits += await walk(house, scene, seed)
    t.diagnostic(`${walksOfScene} walks, ${commits} commits`)
  })

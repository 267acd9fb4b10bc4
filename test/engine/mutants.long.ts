/**
 * Each mistake that the kernel's functions could have is made in a database of its own, and the test that is
 * named beside it finds it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestDatabase } from '../support/database.ts'
import { openLenientDatabase } from '../support/lenient-database.ts'
import { interleavings } from './interleavings.ts'
import { getScene } from './model/scenes.ts'
import type { Scene } from './model/world.ts'
import { scriptOf, sqlMutants } from './sql-mutants.ts'
import { type House, openHouse } from './stage.ts'
import { WalkFailure, walk, walksOf } from './walks.ts'

for (const [name, { about, caughtBy }] of Object.entries(sqlMutants))
  test(`${name}: ${about}`, async (t) => {
    const { url, close } = await openTestDatabase()
    const db = openLenientDatabase({ connectionString: url, connections: 6 })
    t.after(async () => {
      await db.close()
      await close()
    })
    await db.script(scriptOf(name))
    const house = await openHouse(db)
    if ('interleaving' in caughtBy) return assert.rejects(interleavings[caughtBy.interleaving](house))
    const scene = getScene(caughtBy.walks)
    let seed = 1
    while (await isSame(house, scene, seed))
      assert.ok(++seed <= walksOf(scene), `no walk of ${scene.name} finds it`)
    t.diagnostic(`walk ${seed} of ${scene.name}`)
  })

async function isSame(house: House, scene: Scene, seed: number): Promise<boolean> {
  try {
    await walk(house, scene, seed)
    return true
  } catch (error) {
    if (error instanceof WalkFailure) return false
    throw error
  }
}

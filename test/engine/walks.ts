/** Random walks of the model, played on a real PostgreSQL: after each step both hold the same. */
import assert from 'node:assert/strict'
import { type Chance, openChance } from '../support/chance.ts'
import { printDatabase, printModel } from './compare.ts'
import { copy } from './model/explorer.ts'
import { openModel } from './model/model.ts'
import { openRules, type Scene, type Step } from './model/world.ts'
import { openPlayer } from './player.ts'
import { closeStage, type House, openStage } from './stage.ts'

const stepsAtMost = 60
/** How many walks of a scene find the mutants that are its matter. */
export const walksOf = (scene: Scene): number => walksOfScenes[scene.name] ?? 6
const walksOfScenes: Readonly<Record<string, number>> = {
  publishers: 4,
  ages: 10,
  everything: 8,
  late: 30,
  'expired behind': 30,
}
/**
 * Crashes and acts are few: they should not come all at the beginning. Failures are as likely as successes.
 */
function weightOf({ kind, effect }: Step): number {
  if (kind === 'fault') return effect ? 1 : 5
  return kind === 'act' ? 1 : 5
}

export class WalkFailure extends Error {}

/** Answers how many of its steps were commits. */
export async function walk(house: House, scene: Scene, seed: number): Promise<number> {
  const played = { ...scene, played: true }
  const model = openModel(played)
  const rules = openRules(played)
  const chance = openChance(seed)
  const stage = await openStage(house, played)
  const player = openPlayer(stage, rules)
  const trace: string[] = []
  let world = copy(model.start)
  let commits = 0
  try {
    while (trace.length < stepsAtMost) {
      const step = choose(model.steps(world), chance)
      if (!step) break
      trace.push(step.label)
      const next = copy(world)
      step.run(next)
      model.check(next)
      if (step.effect) {
        commits++
        await player.play(step.effect, world, next)
        assert.deepEqual(await printDatabase(stage), printModel(next, rules, stage))
      }
      world = next
    }
  } catch (error) {
    const way = trace.map((label, place) => `${place + 1}. ${label}`).join('\n')
    throw new WalkFailure(`${scene.name}, seed ${seed}: ${(error as Error).message}\n${way}`, {
      cause: error,
    })
  } finally {
    await player.close()
    await closeStage(stage)
  }
  return commits
}

function choose(steps: readonly Step[], chance: Chance): Step | undefined {
  return chance.pick(steps.flatMap((step) => Array<Step>(weightOf(step)).fill(step)))
}

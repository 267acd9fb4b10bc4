/**
 * The model by hand:
 *   node test/engine/model/main.ts                      every scene
 *   node test/engine/model/main.ts --scene NAME --deep  one, with more faults
 *   node test/engine/model/main.ts --mutant NAME        the shortest counterexample of a mutant
 *   node test/engine/model/main.ts --mutants            what catches each
 */
import { parseArgs } from 'node:util'
import { explore, type Report } from './explorer.ts'
import { type Mutant, mutants } from './mutants.ts'
import { deepen, getScene, scenes } from './scenes.ts'

const flag = { type: 'boolean' } as const
const text = { type: 'string' } as const
const { values } = parseArgs({
  options: { scene: text, mutant: text, mutants: flag, deep: flag, limit: { ...text, default: '3000000' } },
})

function show(name: string, report: Report, withTrace: boolean): void {
  const { states, depth, whole, failure } = report
  const verdict = failure
    ? `${failure.trace.length} steps, ${failure.what}`
    : whole
      ? 'holds'
      : 'not finished'
  process.stdout.write(
    `${name.padEnd(24)} ${String(states).padStart(8)} states, depth ${String(depth).padStart(2)}  ${verdict}\n`,
  )
  if (withTrace)
    for (const [place, label] of failure?.trace.entries() ?? [])
      process.stdout.write(`   ${place + 1}. ${label}\n`)
}

const limit = Number(values.limit)
const named = (Object.keys(mutants) as Mutant[]).filter((name) => values.mutants || name === values.mutant)
for (const name of named)
  show(name, explore(getScene(values.scene ?? mutants[name][0]), name, limit), !values.mutants)
if (named.length === 0)
  for (const scene of scenes.filter(({ name }) => !values.scene || name === values.scene))
    show(scene.name, explore(values.deep ? deepen(scene) : scene, undefined, limit), true)

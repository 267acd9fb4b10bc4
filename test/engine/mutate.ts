/**
 * Given to a program with `--import`: it loads the engine with the mistake that `LANE_MUTANT` names. What
 * never comes is not waited for as long as on the busiest machine; without a mutant the tests pass as
 * impatiently (lane-mutants.long.ts).
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { laneMutants, mutated, source } from './lane-mutants.ts'

const name = process.env.LANE_MUTANT
const mutant = name ? laneMutants[name] : undefined
if (name && !mutant) throw new Error(`no mutant is called ${name}`)
const patience = new URL('../support/patience.ts', import.meta.url).href

registerHooks({
  load(url, context, next) {
    const text =
      url === patience ? impatient(url) : mutant && url === source(mutant).href ? mutated(name!) : undefined
    return text === undefined
      ? next(url, context)
      : { format: 'module-typescript', source: text, shortCircuit: true }
  },
})

function impatient(url: string): string {
  return readFileSync(fileURLToPath(url), 'utf8').replace(/patienceMs = [\d_]+/, 'patienceMs = 15_000')
}

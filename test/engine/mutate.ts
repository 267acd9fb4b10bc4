/**
 * Given to a program with `--import`: it loads the engine with the mistake that `LANE_MUTANT` names. It
 * shortens the timeout of the tests, which is made for the busiest machine; without a mutant the tests pass
 * with the short one too (lane-mutants.long.ts).
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { laneMutants, mutated, source } from './lane-mutants.ts'

const name = process.env.LANE_MUTANT
const mutant = name ? laneMutants[name] : undefined
if (name && !mutant) throw new Error(`no mutant is called ${name}`)
const timeoutFile = new URL('../support/timeout.ts', import.meta.url).href

registerHooks({
  load(url, context, next) {
    const text =
      url === timeoutFile
        ? shortened(url)
        : mutant && url === source(mutant).href
          ? mutated(name!)
          : undefined
    return text === undefined
      ? next(url, context)
      : { format: 'module-typescript', source: text, shortCircuit: true }
  },
})

function shortened(url: string): string {
  return readFileSync(fileURLToPath(url), 'utf8').replace(/testTimeoutMs = [\d_]+/, 'testTimeoutMs = 15_000')
}

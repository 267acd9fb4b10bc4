/** Given to a program with `--import`: it loads the engine with the mistake that `LANE_MUTANT` names. */
import { registerHooks } from 'node:module'
import { laneMutants, mutated, source } from './lane-mutants.ts'

const name = process.env.LANE_MUTANT
const mutant = name ? laneMutants[name] : undefined
if (name && !mutant) throw new Error(`no mutant is called ${name}`)

registerHooks({
  load(url, context, next) {
    return mutant && url === source(mutant).href
      ? { format: 'module-typescript', source: mutated(name!), shortCircuit: true }
      : next(url, context)
  },
})

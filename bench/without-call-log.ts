/**
 * Given to a gateway with --import: no call is described, and so none is written down. No setting does that:
 * it is there to be measured against.
 */
import { registerHooks } from 'node:module'

const described = /\/api\/frame\/call-description\.(ts|js)$/

registerHooks({
  load(url, context, next) {
    if (!described.test(url)) return next(url, context)
    return { format: 'module', shortCircuit: true, source: 'export function describeCall() {}' }
  },
})

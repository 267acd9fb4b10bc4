/**
 * openapi-typescript writes with the programming interface of TypeScript, which the compiler of this project
 * does not have. Whoever imports `typescript` after this file gets the one that @ts-morph/common carries.
 */
import { registerHooks } from 'node:module'

const api = import.meta.resolve('@ts-morph/common')
const bridge = `data:text/javascript,${encodeURIComponent(`import common from ${JSON.stringify(api)}; export default common.ts`)}`

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'typescript' ? { url: bridge, shortCircuit: true } : next(specifier, context),
})

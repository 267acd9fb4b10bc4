/** What the brokerage's own systems are called where they say who there is. */
import type { Environment } from './environment.ts'

/** Of a house with one core. What is tried out on the sandbox is of another source. */
export const defaultSource: Readonly<Record<Environment, string>> = { live: 'core', sandbox: 'sandbox' }
export const sourcePattern = '^[a-z][a-z0-9-]{0,29}$'
const shape = new RegExp(sourcePattern)

export const isSource = (name: string) => shape.test(name)

/** As it follows the name of the field. `unknown_source_message` in the database says the same. */
export function unknownSource(source: string, environment: Environment): string {
  const site = environment === 'live' ? '' : ` --environment ${environment}`
  return `names "${source}", and there is no such source. Name it first: countersign source create ${source}${site}`
}

/** Programs that a system may have, for tests that run what ops/ has for them. */
import { spawnSync } from 'node:child_process'

/** What a test is skipped for, or false. */
export function skipWithout(program: string, ...words: readonly string[]): false | string {
  return spawnSync(program, words).status === 0 ? false : `${program} is not installed here`
}

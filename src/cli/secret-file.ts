/**
 * Secrets come from a file or, as `-`, from standard input. Never from an argument: those are seen by every
 * user of the machine, and the shell keeps them.
 */
import { readFileSync } from 'node:fs'
import { type CommandWords, type Option, UsageError } from './command.ts'
import { explain } from './system-errors.ts'

export function secretOption(name: string, meaning: string, more: Pick<Option, 'required'> = {}): Option {
  return { name: `${name}-file`, value: 'FILE', meaning: `${meaning}; - reads standard input`, ...more }
}

export function takeSecret(words: CommandWords, name: string): string | undefined {
  return words.has(`${name}-file`) ? getSecret(words, name) : undefined
}

/** Of an option that is required. */
export function getSecret(words: CommandWords, name: string): string {
  return readSecret(words.get(`${name}-file`))
}

/** Without the end of its line. */
export function readSecret(path: string): string {
  const secret = readText(path).replace(/\r?\n$/, '')
  if (secret === '') throw new UsageError(`${path === '-' ? 'Standard input' : path} holds no secret.`)
  return secret
}

function readText(path: string): string {
  return readFileOf('The secret', path)
}

/** A file, or standard input, that the command was told to take. */
export function readFileOf(what: string, path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch (error) {
    throw new UsageError(`${what} could not be read: ${explain(error)}`)
  }
}

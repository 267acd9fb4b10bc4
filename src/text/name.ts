/**
 * What people may call things, and what they may say: others read it later, on pages, in messages and in
 * terminals.
 */
import { unprintable } from './printable.ts'

const invisible = 'must not contain control characters or invisible ones'

/** What is wrong with a name, without the spaces around it. */
export function findNameProblem(name: string, mostCharacters: number): string | undefined {
  const trimmed = name.trim()
  if (trimmed === '' || trimmed.length > mostCharacters) return `must have 1 to ${mostCharacters} characters`
  return unprintable.test(trimmed) ? invisible : undefined
}

/** A text may have several lines, also as Windows ends them. */
export function findTextProblem(text: string, mostCharacters: number): string | undefined {
  if (text.trim() === '' || text.length > mostCharacters)
    return `must have 1 to ${mostCharacters.toLocaleString('en')} characters`
  return unprintable.test(text.replaceAll(/[\r\n\t]/g, ' ')) ? invisible : undefined
}

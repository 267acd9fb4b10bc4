/** What is wrong with a specification, by the names of its fields. */
import { Invalid } from '../problem.ts'

/** The fields without which nothing new is made. */
export function getRequired<Spec extends object, Name extends keyof Spec & string>(
  wanted: Partial<Spec>,
  names: readonly Name[],
): { [Each in Name]: NonNullable<Spec[Each]> } {
  const missing = names.filter((name) => wanted[name] === undefined)
  if (missing.length > 0) throw new Invalid(missing.map((field) => ({ field, problem: 'is missing' })))
  return wanted as { [Each in Name]: NonNullable<Spec[Each]> }
}

/** What stays as it was made. */
export function refuseOther<Spec extends object>(
  field: keyof Spec & string,
  before: Spec,
  wanted: Spec,
): void {
  if (before[field] === wanted[field]) return
  throw new Invalid([{ field, problem: `must stay "${before[field]}"` }])
}

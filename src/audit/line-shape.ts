/** What a value of a line must be: by name, and in the order in which lines are printed. */
import { isRecord } from '../vocabulary/record-of.ts'

type Rule = (value: unknown) => boolean
export type Shape = Readonly<Record<string, Rule>>

export const text: Rule = (value) => typeof value === 'string'
export const count: Rule = (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
export const moment: Rule = (value) => typeof value === 'string' && isMoment(value)
export const orNull =
  (rule: Rule): Rule =>
  (value) =>
    value === null || rule(value)
export const hex = (bytes: number): Rule => {
  const shape = new RegExp(`^[0-9a-f]{${2 * bytes}}$`)
  return (value) => typeof value === 'string' && shape.test(value)
}

/** `2026-03-02T10:00:00.123Z`, and no other way to write it. */
function isMoment(text: string): boolean {
  const date = new Date(text)
  return !Number.isNaN(date.getTime()) && date.toISOString() === text
}

export function fits(value: unknown, shape: Shape): value is Record<string, unknown> {
  if (!isRecord(value)) return false
  const names = Object.keys(value)
  const wanted = Object.entries(shape)
  return (
    names.length === wanted.length &&
    wanted.every(([name, rule], place) => names[place] === name && rule(value[name]))
  )
}

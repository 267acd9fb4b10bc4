import { Invalid } from '../problem.ts'
import { type Environment, isEnvironment } from '../vocabulary/environment.ts'

export function parseEnvironment(text = 'live'): Environment {
  if (!isEnvironment(text)) throw new Invalid([{ field: 'environment', problem: 'must be live or sandbox' }])
  return text
}

/** `90s`, `30m`, `12h`, `7d`. */
export function parseDuration(text: string, field = 'overlap'): number {
  const [, number, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const unitMs = unitsMs.get(unit)
  if (unitMs === undefined)
    throw new Invalid([{ field, problem: 'must be a number with s, m, h or d, such as 7d' }])
  return Number(number) * unitMs
}

const unitsMs = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
])

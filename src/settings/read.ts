/** Texts → values, by the table. Every mistake is told, not the first alone. */
import { SettingMistake } from './kinds.ts'
import { rules } from './rules.ts'
import { withoutSecret } from './secret-part.ts'
import type { RawSettings, Rows, Setting, SettingRow } from './setting.ts'
import { type SettingValues, settings, table } from './table.ts'

export interface SettingInForce extends Setting {
  readonly value: string
  readonly source: 'environment' | 'default'
}

export interface LoadedSettings {
  readonly values: SettingValues
  /** Every setting in force, for people to read: what is secret is not in it. */
  readonly inForce: readonly SettingInForce[]
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length === 1 ? 'a mistake' : `${problems.length} mistakes`}:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
    )
    this.problems = problems
  }
}

const rowsByName = new Map<string, SettingRow<unknown>>(settings.map((row) => [row.name, row]))

/** An empty setting is one that was not made. */
export function openGiven(texts: Readonly<Record<string, string | undefined>>): RawSettings {
  const raw: RawSettings = {
    has: (name) => (texts[name] ?? '') !== '',
    text(name) {
      const row = rowsByName.get(name)
      if (!row) throw new Error(`There is no setting ${name}.`)
      return texts[name] || (row.follow?.(raw) ?? row.fallback)
    },
  }
  return raw
}

export function readSettings(texts: Readonly<Record<string, string | undefined>>): LoadedSettings {
  const raw = openGiven(texts)
  const problems: string[] = []
  const groups = Object.entries(table).map(([name, { rows, onlyWith }]) => {
    const isWanted = onlyWith === undefined || onlyWith.some(raw.has)
    return [name, isWanted ? readRows(rows, raw, problems) : undefined]
  })
  for (const rule of rules) {
    const problem = rule(raw)
    if (problem !== undefined) problems.push(`${problem}.`)
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return { values: Object.fromEntries(groups), inForce: settings.map((setting) => describe(setting, raw)) }
}

function readRows(rows: Rows, raw: RawSettings, problems: string[]): Record<string, unknown> {
  const values = Object.entries(rows).map(([key, row]) => {
    const value = row.kind(raw.text(row.name))
    // A default is wrong only where it follows from what is: that is told already.
    if (value instanceof SettingMistake && isJudged(row, raw)) problems.push(printMistake(row, value, raw))
    return [key, value]
  })
  return Object.fromEntries(values)
}

const isJudged = ({ name, follow }: SettingRow<unknown>, raw: RawSettings) =>
  raw.has(name) || follow === undefined

function printMistake(
  { name, secret }: SettingRow<unknown>,
  { told, repeats, why }: SettingMistake,
  raw: RawSettings,
): string {
  const not = repeats && secret === undefined ? `, not "${raw.text(name)}"` : ''
  return `${name} ${told}${not}${why === '' ? '' : `: ${why}`}.`
}

function describe({ name, fallback, meaning, secret }: Setting, raw: RawSettings): SettingInForce {
  const shown = { name, fallback, meaning, ...(secret !== undefined && { secret }) }
  const source = raw.has(name) ? 'environment' : 'default'
  return { ...shown, value: withoutSecret(raw.text(name), secret), source }
}

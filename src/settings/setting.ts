/**
 * A row of the table of settings, and what follows from a row: its type, its line in the documentation, its
 * default.
 */
import type { ValueKind } from './kinds.ts'
import type { SecretPart } from './secret-part.ts'

/** What people read of a setting. */
export interface Setting {
  readonly name: string
  readonly fallback: string
  readonly meaning: string
  /** What is never shown: all of it, or what an address carries beside the place it names. */
  readonly secret?: SecretPart
}

export interface SettingRow<Value> extends Setting {
  readonly kind: ValueKind<Value>
  /** The default, where it follows from other settings; `fallback` is then what people are told. */
  readonly follow?: Follow
}

/** What was set, before anything is judged. */
export interface RawSettings {
  has(name: string): boolean
  /** Its default, where it is not set. */
  text(name: string): string
}

export type Follow = (raw: RawSettings) => string

/**
 * Rows that are read only when one of the settings in `onlyWith` is there: otherwise they are not checked.
 */
interface Group<Rows, Names = undefined> {
  readonly rows: Rows
  readonly onlyWith: Names
}

export type Rows = Readonly<Record<string, SettingRow<unknown>>>

type RowValues<Of> = { readonly [Key in keyof Of]: Of[Key] extends SettingRow<infer Value> ? Value : never }

export type Values<Of> = {
  readonly [Name in keyof Of]: Of[Name] extends Group<infer These, infer Names>
    ? RowValues<These> | (Names extends undefined ? never : undefined)
    : never
}

export function setting<Value>(
  name: string,
  fallback: string | { readonly told: string; readonly follow: Follow },
  kind: ValueKind<Value>,
  meaning: string,
  secret?: SecretPart,
): SettingRow<Value> {
  const given =
    typeof fallback === 'string' ? { fallback } : { fallback: fallback.told, follow: fallback.follow }
  return { name, kind, meaning, ...given, ...(secret !== undefined && { secret }) }
}

export const follows = (told: string, follow: Follow) => ({ told, follow })

export const always = <Of extends Rows>(rows: Of): Group<Of> => ({ rows, onlyWith: undefined })

export const onlyWith = <Of extends Rows>(
  names: readonly string[],
  rows: Of,
): Group<Of, readonly string[]> => ({
  rows,
  onlyWith: names,
})

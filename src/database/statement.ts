/**
 * A statement as a value: its name, what it takes by name, what its rows hold, and its text. A test asks
 * PostgreSQL to describe each, and compares (test/statements.test.ts).
 */
import type { Column, ValueOf } from './column.ts'

export type Columns = Readonly<Record<string, Column<unknown>>>

/** What is called by names, and answers rows. */
export interface Statement<Values, Row> {
  /** Under which a connection prepares it; empty for one that is not kept. */
  readonly name: string
  /** With numbers in the place of names. */
  readonly text: string
  /** In the order of their numbers. */
  readonly parameters: readonly string[]
  readonly takes: Columns
  readonly gives: Columns
  /** Never there: they carry the types. */
  readonly values?: (values: Values) => void
  readonly row?: Row
}

/** What a statement answers, of `typeof` one. */
export type RowOf<Of> = Of extends Statement<never, infer Row> ? Row : never

type RowGiven<Gives extends Columns> = { readonly [Name in keyof Gives]: ValueOf<Gives[Name]> }

type RequiredNames<Takes extends Columns> = {
  [Name in keyof Takes]: null extends ValueOf<Takes[Name]> ? never : Name
}[keyof Takes]

/** What may be null may be left out. */
type ValuesOf<Takes extends Columns> = { readonly [Name in RequiredNames<Takes>]: ValueOf<Takes[Name]> } & {
  readonly [Name in Exclude<keyof Takes, RequiredNames<Takes>>]?: ValueOf<Takes[Name]> | undefined
}

interface Description<Takes extends Columns, Gives extends Columns> {
  readonly name: string
  readonly takes?: Takes
  readonly gives?: Gives
  /** Parameters as `:name`. */
  readonly text: string
}

// biome-ignore lint/complexity/noBannedTypes: a statement without parameters, or without rows
export function statement<Takes extends Columns = {}, Gives extends Columns = {}>({
  name,
  takes,
  gives,
  text,
}: Description<Takes, Gives>): Statement<ValuesOf<Takes>, RowGiven<Gives>> {
  const parameters: string[] = []
  const numbered = text.replaceAll(parameterOrQuoted, (found, parameter?: string) => {
    if (parameter === undefined) return found
    if (!parameters.includes(parameter)) parameters.push(parameter)
    return `$${parameters.indexOf(parameter) + 1}`
  })
  return { name, text: numbered, parameters, takes: takes ?? {}, gives: gives ?? {} }
}

/** What is quoted, and casts, are no parameters. */
const parameterOrQuoted = /'(?:[^']|'')*'|::|:([a-z]\w*)/g

/** The values of a statement, in the order of its parameters and as the driver takes them. */
export function inOrder<Values>(
  { parameters, takes }: Statement<Values, unknown>,
  values: Values,
): unknown[] {
  return parameters.map((name) => {
    const value = (values as Readonly<Record<string, unknown>>)[name]
    return value === undefined ? value : (takes[name]?.print?.(value) ?? value)
  })
}

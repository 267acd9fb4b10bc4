/**
 * What a value of PostgreSQL is in TypeScript: the types of parameters and columns, as values, so that a test
 * can hold them against what PostgreSQL says of each statement.
 */
import { plainArray, textArray } from './array-literal.ts'

export interface Column<Value> {
  /** As PostgreSQL calls them. */
  readonly types: readonly string[]
  readonly isNullable: boolean
  /** Nullable where it comes from, but never here: the statement leaves out rows without it. */
  readonly isSure: boolean
  /** The values that there are, where they are few. */
  readonly words: readonly string[] | undefined
  /** For the driver, where it does not know how to. */
  print?(value: Value): unknown
  /** Never there: it carries the type. */
  readonly value?: Value
}

export type ValueOf<Of> = Of extends Column<infer Value> ? Value : never

function column<Value>(...types: string[]): Column<Value> {
  return { types, isNullable: false, isSure: false, words: undefined }
}

export const bool = column<boolean>('bool')
export const int = column<number>('int2', 'int4', 'int8')
export const float = column<number>('float4', 'float8')
export const text = column<string>('text', 'varchar', 'name', 'bpchar')
export const uuid = column<string>('uuid')
export const instant = column<Date>('timestamptz')
/** An instant, or what lies before or behind all of them. */
export const moment = column<Date | '-infinity' | 'infinity'>('timestamptz')
export const bytes = column<Buffer>('bytea')
/** As text: a number of PostgreSQL's may have more digits than one of JavaScript's. */
export const decimal = column<string>('numeric')
export const interval = column<string>('interval')
/** 64 bits as text: more than a number of JavaScript's holds. */
export const hash64 = column<string>('int8')
/** A document that is printed already. */
export const jsonText = column<string>('json', 'jsonb')
/** PostgreSQL's infinities, which no Date is, come as numbers. */
export const instantOrInfinity = column<Date | number>('timestamptz')

/** A document, read as the type that its writer declares. */
export function json<Value>(): Column<Value> {
  return column<Value>('json', 'jsonb')
}

/**
 * A text that is one of a vocabulary's words, which a constraint in the schema or its only writer holds to.
 */
export function word<Word extends string>(): Column<Word> {
  return column<Word>('text', 'varchar')
}

/** A text that is one of these. */
export function oneOf<const Word extends string>(...words: readonly Word[]): Column<Word> {
  return { ...column<Word>('text', 'varchar'), words }
}

export function orNull<Value>(of: Column<Value>): Column<Value | null> {
  const { print, types, isSure, words } = of
  const nullable = { types, isSure, words, isNullable: true }
  return print ? { ...nullable, print: (value) => (value === null ? null : print(value)) } : nullable
}

/** Nullable in its table, but not in these rows. */
export function sure<Value>(of: Column<Value>): Column<Value> {
  return { ...of, isSure: true }
}

/** An array. It is printed here: the driver takes a fifth of a sending thread for that. */
export function list<Value>(of: Column<Value>): Column<readonly Value[]> {
  return {
    types: of.types.map((type) => `_${type}`),
    isNullable: false,
    isSure: false,
    words: of.words,
    print: isPlain(of)
      ? (values) => plainArray(values as readonly (number | string | null)[])
      : (values) => printList(of, values),
  }
}

const unquoted = new Set(['bool', 'int2', 'int4', 'int8', 'float4', 'float8', 'uuid'])

/** Whether no element has to be quoted: quoting takes longer than everything else about a list. */
function isPlain<Value>({ types, words }: Column<Value>): boolean {
  return (
    types.some((type) => unquoted.has(type)) ||
    (words?.every((word) => /^(?!null$)[\w-]+$/i.test(word)) ?? false)
  )
}

function printList<Value>({ types }: Column<Value>, values: readonly Value[]): unknown {
  if (types[0] === 'text') return textArray(values as readonly (string | null)[])
  if (types[0] === 'timestamptz')
    return plainArray(
      (values as readonly (Date | string | null)[]).map((at) => (at instanceof Date ? at.toISOString() : at)),
    )
  return values
}

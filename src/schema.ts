/**
 * The words that schemas are made of. A schema judges requests and becomes /openapi.json; one with a `title` is named there.
 * Integers are 64 bits wide to generators, because epoch milliseconds do not fit into 32.
 */
import Type, { type TSchemaOptions } from 'typebox'

/** Both JavaScript and PostgreSQL know it: the year 33658. */
export const latestInstantMs = 999_999_999_999_999

export const oneOf = <const Word extends string>(words: readonly Word[], options: TSchemaOptions = {}) =>
  Type.Unsafe<Word>({ type: 'string', enum: [...words], ...options })

export const integer = (description: string, example: number, options: TSchemaOptions = {}) =>
  Type.Integer({ format: 'int64', description, examples: [example], ...options })

export const instant = (description: string, options: TSchemaOptions = {}) =>
  integer(`${description}, in epoch milliseconds.`, 1_767_225_600_000, {
    minimum: 0,
    maximum: latestInstantMs,
    ...options,
  })

export const text = (description: string, example: string, options: TSchemaOptions = {}) =>
  Type.String({ description, examples: [example], ...options })

/**
 * What a test asks the database itself: any statement, with values by their numbers, and rows that it knows.
 */
import type { Column } from '../../src/database/column.ts'
import type { Sql } from '../../src/database/database.ts'
import type { Statement } from '../../src/database/statement.ts'

const anything: Column<unknown> = { types: [], isNullable: true, isSure: false, words: undefined }

export function ask<Row extends object>(
  sql: Pick<Sql, 'query'>,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const parameters = values.map((_, index) => `value${index}`)
  const takes = Object.fromEntries(parameters.map((name) => [name, anything]))
  const named = Object.fromEntries(values.map((value, index) => [`value${index}`, value]))
  const statement: Statement<object, Row> = { name: '', text, parameters, takes, gives: {} }
  return sql.query(statement, named)
}

/** Every statement that a `.sql.ts` file exports, by itself or in a record of statements. */
import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Statement } from '../../src/database/statement.ts'

type AnyStatement = Statement<never, unknown>

export interface FoundStatement extends AnyStatement {
  readonly file: string
  /** What the file calls it. */
  readonly exported: string
}

export async function listStatements(): Promise<FoundStatement[]> {
  const found: FoundStatement[] = []
  for (const file of globSync('src/**/*.sql.ts').sort()) {
    const values = (await import(pathToFileURL(resolve(file)).href)) as object
    found.push(...statementsIn(values, []).map((statement) => ({ ...statement, file })))
  }
  return found
}

function statementsIn(values: object, path: readonly string[]): Omit<FoundStatement, 'file'>[] {
  return Object.entries(values).flatMap(([name, value]: [string, unknown]) => {
    if (typeof value !== 'object' || value === null) return []
    const names = [...path, name]
    return isStatement(value) ? [{ ...value, exported: names.join('.') }] : statementsIn(value, names)
  })
}

function isStatement(value: object): value is AnyStatement {
  return 'parameters' in value && 'takes' in value && 'gives' in value
}

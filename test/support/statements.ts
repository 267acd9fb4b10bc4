/** Every statement that a `.sql.ts` file has. */
import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Statement } from '../../src/database/database.ts'

export interface FoundStatement extends Statement {
  readonly file: string
}

export async function listStatements(): Promise<FoundStatement[]> {
  const found: FoundStatement[] = []
  for (const file of globSync('src/**/*.sql.ts').sort()) {
    const values = Object.values((await import(pathToFileURL(resolve(file)).href)) as object)
    found.push(...values.filter(isStatement).map((statement) => ({ ...statement, file })))
  }
  return found
}

function isStatement(value: unknown): value is Statement {
  return typeof value === 'object' && value !== null && 'name' in value && 'text' in value
}

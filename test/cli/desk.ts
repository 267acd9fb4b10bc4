/** The command line against a database of the file's own: one process a command. */
import { randomBytes } from 'node:crypto'
import { after, before } from 'node:test'
import { type Database, openDatabase } from '../../src/database/database.ts'
import { openTestDatabase, type TestDatabase } from '../support/database.ts'
import { type Finished, runCommand } from '../support/process.ts'

export interface CommandLine {
  readonly db: Database
  readonly settings: NodeJS.ProcessEnv
  run(...words: string[]): Promise<Finished>
  /** Runs with --json and answers the value; a failure is the test's. */
  read<Value = Record<string, unknown>>(...words: string[]): Promise<Value>
  /** Code and error stream of a command that must fail, with nothing on the output stream. */
  fail(...words: string[]): Promise<{ code: number | null; stderr: string }>
}

/** Opened before the tests of the file that calls it, closed after them. */
export function useCommandLine(): CommandLine {
  let database: TestDatabase
  let db: Database
  const settings: NodeJS.ProcessEnv = { SECRET_KEY: randomBytes(32).toString('hex') }
  before(async () => {
    database = await openTestDatabase()
    db = openDatabase({ connectionString: database.url, connections: 2 })
    settings.DATABASE_URL = database.url
  })
  after(async () => {
    await db?.close()
    await database?.close()
  })
  const run = (...words: string[]) => runCommand(words, settings)
  return {
    settings,
    run,
    get db() {
      return db
    },
    async read(...words) {
      const done = await run(...words, '--json')
      if (done.code !== 0 || done.stderr !== '') throw new Error(`"${words.join(' ')}" failed: ${done.stderr}`)
      return done.json()
    },
    async fail(...words) {
      const { code, stdout, stderr } = await run(...words)
      if (stdout !== '') throw new Error(`"${words.join(' ')}" printed: ${stdout}`)
      return { code, stderr }
    },
  }
}

/** The fields of one thing, as people read them: a name and a value a line. */
export function parseRecord(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => /^\w+ {2,}/.test(line))
  return Object.fromEntries(lines.map((line) => [line.split(' ')[0]!, line.replace(/^\w+ +/, '')]))
}

/** A table, as people read it: columns begin where their heading begins. */
export function parseTable(text: string): Record<string, string>[] {
  const [heading, ...lines] = text.trimEnd().split('\n')
  const columns = [...heading!.matchAll(/\w+/g)]
  return lines.map((line) =>
    Object.fromEntries(
      columns.map((column, index) => [column[0], line.slice(column.index, columns[index + 1]?.index).trim()]),
    ),
  )
}

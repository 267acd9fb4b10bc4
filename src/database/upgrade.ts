/**
 * What the next migrations would do to the tables of a database, found out by running them: in a database beside it
 * on the same server, made for that and dropped again, whose schema is the same and which is empty. There
 * PostgreSQL itself says what each statement locks, reads and rewrites. Of the database itself only sizes are read.
 * What a statement does for each row that it finds is not seen there.
 */
import { codeOf } from '../text/thrown.ts'
import { type Database, openDatabase, type Sql } from './database.ts'
import { atDatabase } from './hosts.ts'
import { findPending, type Migration, migrate, type RunMigration, readMigrations } from './migrations.ts'
import type { RowOf } from './statement.ts'
import { selectPartitionSamples, selectTableSizes, selectTables, selectTraces } from './upgrade.sql.ts'

/** From the weakest to the strongest, with what has to wait for its end. */
const stoppedBy = {
  'ACCESS SHARE': 'nothing',
  'ROW SHARE': 'nothing',
  'ROW EXCLUSIVE': 'nothing',
  'SHARE UPDATE EXCLUSIVE': 'vacuum',
  SHARE: 'writes',
  'SHARE ROW EXCLUSIVE': 'writes',
  EXCLUSIVE: 'writes',
  'ACCESS EXCLUSIVE': 'reads and writes',
} as const
type LockMode = keyof typeof stoppedBy
const modes = Object.keys(stoppedBy) as LockMode[]

interface TableEffect {
  readonly migration: string
  readonly table: string
  readonly rows: number
  readonly bytes: number
  /** The strongest that the upgrade holds on it by then. All are held until the last migration is done. */
  readonly lock: LockMode
  readonly stops: (typeof stoppedBy)[LockMode]
  /** What is done to all that the table holds. */
  readonly contents: 'kept' | 'read' | 'rewritten' | 'dropped'
  readonly statement: string
}

export interface UpgradeCheck {
  readonly pending: readonly string[]
  readonly effects: readonly TableEffect[]
}

const scratchName = 'countersign_upgrade_check'

/** Undefined where there are no tables yet. */
export async function checkUpgrade(
  connectionString: string,
  migrations = readMigrations(),
): Promise<UpgradeCheck | undefined> {
  const db = openDatabase({ connectionString, connections: 1 })
  try {
    const pending = await findPending(db, migrations)
    if (pending === undefined) return undefined
    const effects = pending.length === 0 ? [] : await tryBeside(db, connectionString, migrations, pending)
    return { pending: pending.map(({ name }) => name), effects }
  } finally {
    await db.close()
  }
}

async function tryBeside(
  db: Database,
  connectionString: string,
  migrations: readonly Migration[],
  pending: readonly Migration[],
): Promise<TableEffect[]> {
  const sizes = new Map((await db.query(selectTableSizes)).map((size) => [size.name, size]))
  await createScratch(db)
  const scratch = openDatabase({
    connectionString: atDatabase(connectionString, scratchName),
    connections: 1,
  })
  const effects: TableEffect[] = []
  try {
    await migrate(
      scratch,
      migrations.filter((each) => !pending.includes(each)),
    )
    // A table without partitions holds nothing that a statement could read.
    for (const { parent, name, bound } of await db.query(selectPartitionSamples))
      await scratch.script(`CREATE TABLE IF NOT EXISTS ${name} PARTITION OF ${parent} ${bound}`)
    const watch = await watchTables(scratch, sizes, effects)
    await migrate(scratch, [...migrations], undefined, watch)
  } finally {
    await scratch.close()
    await db.script(`DROP DATABASE ${scratchName} WITH (FORCE)`)
  }
  return effects
}

const notAllowed = '42501'
const existsAlready = '42P04'

async function createScratch(db: Database): Promise<void> {
  try {
    await db.script(`CREATE DATABASE ${scratchName} TEMPLATE template0`)
  } catch (error) {
    if (codeOf(error) === notAllowed)
      throw new Error(
        'The check tries the migrations in an empty database of its own, and the role of DATABASE_URL may not create one. ' +
          'Let it (ALTER ROLE … CREATEDB), or name a role that may in DATABASE_URL.',
      )
    if (codeOf(error) === existsAlready)
      throw new Error(
        `There is a database ${scratchName}: another check is under way, or one was killed. If so: DROP DATABASE ${scratchName}`,
      )
    throw error
  }
}

type Sizes = ReadonlyMap<string, RowOf<typeof selectTableSizes>>
type Trace = RowOf<typeof selectTraces>

/** Looks after each statement of the migrations at what has become of the tables that were there before. */
async function watchTables(scratch: Sql, sizes: Sizes, effects: TableEffect[]): Promise<RunMigration> {
  const names = new Map((await scratch.query(selectTables)).map(({ table, name }) => [table, name]))
  const look = async (sql: Sql) => {
    const traces = await sql.query(selectTraces, { tables: [...names.keys()] })
    return new Map(traces.map((trace) => [trace.table, trace]))
  }
  return async (sql, { name: migration, text }) => {
    let before = await look(sql)
    for (const statement of splitStatements(text)) {
      await sql.script(statement)
      const after = await look(sql)
      const seen = new Map<string, TableEffect>()
      for (const [table, now] of after) {
        const lock = strongest(now)
        const contents = compare(before.get(table)!, now)
        if (!lock || (contents === 'kept' && (lock === strongest(before.get(table)!) || lock === modes[0])))
          continue
        const name = names.get(table)!
        // A partition that is read matters more than that its parent, which holds nothing, is not.
        if (seen.get(name) && contents === 'kept') continue
        const { rows = 0, bytes = 0 } = sizes.get(name) ?? {}
        const told = { migration, table: name, rows, bytes, lock, stops: stoppedBy[lock], contents }
        seen.set(name, { ...told, statement: printStatement(statement) })
      }
      effects.push(...seen.values())
      before = after
    }
  }
}

function compare(before: Trace, now: Trace): TableEffect['contents'] {
  if (!now.exists) return before.exists ? 'dropped' : 'kept'
  if (now.file !== before.file) return 'rewritten'
  return now.scans > before.scans ? 'read' : 'kept'
}

const strongest = ({ locks }: Trace) => modes.findLast((mode) => locks.includes(mode))

const comment = String.raw`--[^\n]*|/\*[\s\S]*?\*/`
const quoted = String.raw`'(?:[^']|'')*'|"[^"]*"|(\$\w*\$)[\s\S]*?\1`
const piece = new RegExp(`${comment}|${quoted}|;|[^;]`, 'g')

/** At each semicolon that is not in a text, a name or a comment. */
export function splitStatements(script: string): string[] {
  const statements = ['']
  for (const [text] of script.matchAll(piece)) {
    if (text === ';') statements.push('')
    else if (!/^(?:--|\/\*)/.test(text)) statements[statements.length - 1] += text
  }
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== '')
}

const longest = 120

function printStatement(statement: string): string {
  const line = statement.replaceAll(/\s+/g, ' ')
  return line.length <= longest ? line : `${line.slice(0, longest - 1)}…`
}

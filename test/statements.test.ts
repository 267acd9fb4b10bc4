/**
 * What TypeScript says of a statement, held to what PostgreSQL says of it. Every statement is parsed and
 * described, but not run.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import pg from 'pg'
import type { Column } from '../src/database/column.ts'
import { openDay } from '../src/webhooks/events/days.sql.ts'
import { openTestDatabase } from './support/database.ts'
import { keepOpen } from './support/keep-open.ts'
import { mayAnswerNull, type Plan } from './support/nulls-of-plan.ts'
import { type FoundStatement, listStatements } from './support/statements.ts'

const database = await keepOpen(openTestDatabase())
const client = new pg.Client({ connectionString: database.url })
await client.connect()
await keepOpen({ close: () => client.end() })
await client.query(openDay.text, [260302])
// As a transaction has it that imports.
await client.query('CREATE TEMPORARY TABLE staged_records OF provisioned')

/** A column of a table. */
interface Origin {
  readonly name: string
  readonly isNotNull: boolean
  /** Those that the table's constraint allows. */
  readonly words: readonly string[] | undefined
}

interface DescribedColumn {
  readonly name: string
  readonly type: string
  /** Where it comes straight from a table. */
  readonly origin: Origin | undefined
}

interface StatementDescription extends FoundStatement {
  readonly refused: string | undefined
  /** Of parameters, in the order of their numbers. */
  readonly types: readonly string[]
  readonly columns: readonly DescribedColumn[]
}

interface JudgedStatement extends StatementDescription {
  /** Whether each column may be null, where it can be known: of those that come straight from a table. */
  readonly nulls: readonly (boolean | undefined)[]
}

async function ask<Row extends object>(text: string): Promise<Row[]> {
  return (await client.query<Row>(text)).rows
}

const types = new Map(
  (await ask<{ oid: number; name: string }>('SELECT oid, typname AS name FROM pg_type')).map((type) => [
    type.oid,
    type.name,
  ]),
)

const attributes = await ask<{ place: string; name: string; isNotNull: boolean; check: string | null }>(
  `SELECT attrelid || '.' || attnum AS place, relname || '.' || attname AS name, attnotnull AS "isNotNull",
     (SELECT string_agg(pg_get_constraintdef(k.oid), ' AND ') FROM pg_constraint k
       WHERE k.conrelid = attrelid AND k.contype = 'c' AND k.conkey = ARRAY[attnum]) AS check
   FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid WHERE attnum > 0 AND relkind IN ('r', 'p')`,
)
const origins = new Map<string, Origin>(
  attributes.map(({ place, name, isNotNull, check }) => [
    place,
    { name, isNotNull, words: wordsOf(check ?? '') },
  ]),
)

/** A column that is one of a list (`IN`, or `<@` where it is an array). */
function wordsOf(check: string): string[] | undefined {
  const lists = [...check.matchAll(/ (?:= ANY \(|<@ )ARRAY\[([^\]]*)\]/g)].map((found) => found[1]!)
  return lists.length === 0 ? undefined : [...lists.join().matchAll(/'([^']*)'/g)].map((found) => found[1]!)
}

interface Field {
  readonly name: string
  readonly dataTypeID: number
  readonly tableID: number
  readonly columnID: number
}

function describe(statement: FoundStatement): Promise<StatementDescription> {
  return new Promise((answer) => {
    let taken: readonly number[] = []
    let given: readonly Field[] = []
    client.query({
      submit(connection: pg.Connection) {
        connection.once('parameterDescription', (said: { dataTypeIDs: readonly number[] }) => {
          taken = said.dataTypeIDs
        })
        connection.parse({ name: '', text: statement.text, types: [] }, false)
        connection.describe({ type: 'S', name: '' }, false)
        connection.sync()
      },
      handleRowDescription({ fields }: { fields: readonly Field[] }) {
        given = fields
      },
      handleError(error: Error, connection: pg.Connection) {
        connection.removeAllListeners('parameterDescription')
        answer({ ...statement, refused: error.message, types: [], columns: [] })
      },
      handleReadyForQuery: () =>
        answer({
          ...statement,
          refused: undefined,
          types: taken.map(typeCalled),
          columns: given.map(columnOf),
        }),
    } as pg.Submittable)
  })
}

function typeCalled(oid: number): string {
  return types.get(oid)!
}

function columnOf({ name, dataTypeID, tableID, columnID }: Field): DescribedColumn {
  return { name, type: typeCalled(dataTypeID), origin: origins.get(`${tableID}.${columnID}`) }
}

async function planOf(text: string): Promise<Plan> {
  const [row] = await ask<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    `EXPLAIN (GENERIC_PLAN, VERBOSE, FORMAT JSON) ${text}`,
  )
  return row!['QUERY PLAN'][0].Plan
}

async function nullsOf({ columns, text }: StatementDescription): Promise<(boolean | undefined)[]> {
  if (columns.every(({ origin }) => origin === undefined)) return []
  const plan = await planOf(text)
  return columns.map(({ origin }, index) => {
    if (origin === undefined) return undefined
    return origin.isNotNull ? mayAnswerNull(plan, index) : true
  })
}

const statements: JudgedStatement[] = []
for (const statement of await listStatements()) {
  const described = await describe(statement)
  statements.push({ ...described, nulls: await nullsOf(described) })
}

/** Functions that are called for what they do have a column of that type. */
function answered({ columns }: StatementDescription): readonly DescribedColumn[] {
  return columns.filter(({ type }) => type !== 'void')
}

interface ResultColumn extends DescribedColumn {
  readonly said: Column<unknown>
  readonly index: number
}

/** The columns that TypeScript says something of. */
function given({ columns, gives }: StatementDescription): ResultColumn[] {
  return columns.flatMap((column, index) => {
    const said = gives[column.name]
    return said ? [{ ...column, said, index }] : []
  })
}

/** Fails with a line for each thing that is wrong: where it is, and what to do. */
function holds(rule: (statement: JudgedStatement) => readonly string[]): void {
  const wrong = statements.flatMap((statement) =>
    rule(statement).map((what) => `${statement.file}: ${statement.exported}: ${what}`),
  )
  assert.equal(wrong.length, 0, `${wrong.length} to mend:\n${wrong.join('\n')}`)
}

test('PostgreSQL understands every statement', () => {
  holds(({ refused }) => (refused === undefined ? [] : [refused]))
  assert.ok(statements.length > 500, `${statements.length} statements`)
})

test('a statement takes what its text names', () => {
  holds(({ parameters, takes }) => [
    ...parameters.filter((name) => !(name in takes)).map((name) => `:${name}: say its type in takes`),
    ...Object.keys(takes)
      .filter((name) => !parameters.includes(name))
      .map((name) => `:${name}: take it out of takes, the text does not name it`),
  ])
})

test('a parameter has the type that PostgreSQL gives it', () => {
  holds(({ parameters, takes, types: asked }) =>
    asked.flatMap((type, index) => {
      const name = parameters[index]
      if (name === undefined) return [`$${index + 1}: give it a name`]
      return takes[name] === undefined ? [] : unlike(`:${name}`, takes[name], type, 'takes')
    }),
  )
})

function unlike(place: string, { types: said }: Column<unknown>, type: string, list: string): string[] {
  if (said.includes(type)) return []
  return [`${place}: is ${type}, not ${said.join(' or ')}: say so in ${list}, or cast it in the text`]
}

test('a row has the columns that TypeScript says, by the same names', () => {
  holds((statement) => {
    const names = answered(statement).map(({ name }) => name)
    const said = Object.keys(statement.gives)
    // Of rows that nobody reads nothing has to be said.
    if (said.length === 0 || statement.refused !== undefined) return []
    return [
      ...names.filter((name) => !said.includes(name)).map((name) => `${name}: say its type in gives`),
      ...said
        .filter((name) => !names.includes(name))
        .map((name) => `${name}: take it out of gives, or answer it`),
      ...names
        .filter((name, index) => names.indexOf(name) < index)
        .map((name) => `${name}: is there twice, call one of them otherwise`),
    ]
  })
})

test('rows come out of statements in camelCase', () => {
  holds(({ gives }) =>
    Object.keys(gives)
      .filter((name) => name.includes('_'))
      .map(
        (name) =>
          `${name}: call it AS "${name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())}"`,
      ),
  )
})

test('a column has the type that PostgreSQL gives it', () => {
  holds((statement) => given(statement).flatMap(({ name, type, said }) => unlike(name, said, type, 'gives')))
})

const outerJoins = {
  'partners p LEFT JOIN clients c USING (branch_id)': [false, true],
  'partners p RIGHT JOIN clients c USING (branch_id)': [true, false],
  'partners p FULL JOIN clients c USING (branch_id)': [true, true],
  'partners p JOIN clients c USING (branch_id)': [false, false],
  "partners p LEFT JOIN clients c USING (branch_id) WHERE c.status = 'active'": [false, false],
  'partners p LEFT JOIN LATERAL (SELECT id FROM clients WHERE branch_id = p.branch_id LIMIT 1) c ON true': [
    false,
    true,
  ],
}

test('a plan tells what an outer join may leave null', async () => {
  for (const [tables, nulls] of Object.entries(outerJoins)) {
    const plan = await planOf(`SELECT p.branch_id, c.id FROM ${tables}`)
    assert.deepEqual([mayAnswerNull(plan, 0), mayAnswerNull(plan, 1)], nulls, tables)
  }
  const inParts = await planOf(
    'SELECT k.webhook_id, l.seq FROM cursors k LEFT JOIN log l ON l.seq = k.position',
  )
  assert.deepEqual([mayAnswerNull(inParts, 0), mayAnswerNull(inParts, 1)], [false, true])
  const known = statements.flatMap(({ nulls }) => nulls.filter((may) => may !== undefined))
  assert.ok(known.length > 1_000, `known of ${known.length} columns`)
})

test('what may be null is null to TypeScript too', () => {
  holds((statement) =>
    given(statement)
      .filter(({ said, index }) => statement.nulls[index] === true && !said.isNullable && !said.isSure)
      .map(({ name, origin }) => {
        const why = origin!.isNotNull
          ? `${origin!.name} is on the far side of an outer join`
          : `${origin!.name} may be null`
        return `${name}: ${why}, say orNull(), or sure() if the statement rules it out`
      }),
  )
})

test('what is never null is not null to TypeScript either', () => {
  holds((statement) =>
    given(statement)
      .filter(({ said, index }) => statement.nulls[index] === false && (said.isNullable || said.isSure))
      .map(({ name, origin, said }) => {
        return `${name}: ${origin!.name} is never null, take ${said.isNullable ? 'orNull' : 'sure'}() away`
      }),
  )
})

test('the words of a column are among those that its table allows', () => {
  holds((statement) =>
    given(statement).flatMap(({ name, origin, said }) => {
      const unknown = said.words?.filter((word) => origin?.words && !origin.words.includes(word)) ?? []
      return unknown.map((word) => `${name}: ${origin!.name} is never '${word}', take it out of oneOf()`)
    }),
  )
})

test('no two statements have the same name: a connection that has prepared one refuses the other', () => {
  const kept = statements.filter(({ name }) => name !== '')
  const twice = [...Map.groupBy(kept, ({ name }) => name)].filter(
    ([, of]) => new Set(of.map(({ text }) => text)).size > 1,
  )
  assert.deepEqual(
    twice.map(([name, of]) => `${name}: ${of.map(({ file }) => file).join(', ')}`),
    [],
  )
})

test('every constraint and index that the source names in a violation is there', async () => {
  const sources = globSync('src/**/*.ts').map((file) => ({ file, text: readFileSync(file, 'utf8') }))
  const named = sources.flatMap(({ file, text }) =>
    [...text.matchAll(/violates\(\w+, '(\w+)'\)/g)].map(([, name]) => ({ file, name: name! })),
  )
  const known = await ask<{ name: string }>(
    'SELECT conname AS name FROM pg_constraint UNION SELECT relname FROM pg_class',
  )
  // Triggers name their own.
  const raised = globSync('migrations/*.sql')
    .map((file) => readFileSync(file, 'utf8'))
    .join()
  const missing = named.filter(
    ({ name }) => !known.some((each) => each.name === name) && !raised.includes(`'${name}'`),
  )
  assert.deepEqual(missing, [])
  assert.ok(named.length > 10, `${named.length} names`)
})

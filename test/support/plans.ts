/**
 * A database that looks at the plan of every statement before it runs it: with its real values, as a
 * connection of the pool plans it, and with what it really touched. What the look itself writes is undone.
 */

import assert from 'node:assert/strict'
import pg from 'pg'
import { type Database, type Sql, type Step, step } from '../../src/database/database.ts'
import { ask } from './ask.ts'

export interface Look {
  /** Of each partition the name that its whole table's index has. */
  readonly indexes: ReadonlySet<string>
  /** Tables that were read from end to end. */
  readonly readWhole: ReadonlySet<string>
  /** Pages that were touched. */
  readonly pages: number
  /** Rows that came out of any step of the plan, or were thrown away by it. */
  readonly rows: number
}

/** By the statement's name without its day: all that was seen of it together, at its most. */
export type Looks = Map<string, Look>

export function withoutDay(name: string): string {
  return name.replace(/_d\d+$/, '')
}

export async function openLookingDatabase(db: Database, looks: Looks): Promise<Database> {
  const wholes = await readIndexNames(db)
  async function lookAt(sql: Sql, { statement: { name, text }, values }: Step): Promise<void> {
    if (!text.startsWith('SET ')) note(looks, withoutDay(name), await look(sql, text, values, wholes))
  }
  const over = (sql: Sql): Sql => {
    // Those that leave together are looked at one after the other.
    let turn: Promise<unknown> = Promise.resolve()
    const looking: Sql = {
      query(statement, ...values) {
        const answer = turn.then(async () => {
          await lookAt(sql, step(statement, ...values))
          return sql.query(statement, ...values)
        })
        turn = answer.catch(() => {})
        return answer
      },
      async one(statement, ...values) {
        const [row] = await looking.query(statement, ...values)
        return row ?? assert.fail(`${statement.name} gave no row`)
      },
      script: (text) => sql.script(text),
      copy: (text, rows) => sql.copy(text, rows),
      transaction: (work) => work(looking),
      afterCommit: (work) => sql.afterCommit(work),
    }
    return looking
  }
  return {
    ...db,
    async together(steps) {
      await db.transaction(async (sql) => {
        for (const each of steps as readonly Step[]) await lookAt(sql, each)
      })
      return db.together(steps)
    },
    query: (statement, ...values) => db.transaction((sql) => over(sql).query(statement, ...values)),
    one: (statement, ...values) => db.transaction((sql) => over(sql).one(statement, ...values)),
    transaction: (work) => db.transaction((sql) => work(over(sql))),
  }
}

async function readIndexNames(db: Database): Promise<ReadonlyMap<string, string>> {
  const rows = await ask<{ part: string; whole: string }>(
    db,
    `SELECT part.relname AS part, whole.relname AS whole FROM pg_inherits i
      JOIN pg_class part ON part.oid = i.inhrelid AND part.relkind IN ('i', 'I')
        JOIN pg_class whole ON whole.oid = i.inhparent`,
  )
  return new Map(rows.map(({ part, whole }) => [part, whole]))
}

async function look(
  sql: Sql,
  text: string,
  values: readonly unknown[],
  wholes: ReadonlyMap<string, string>,
): Promise<Look> {
  const call = values.length === 0 ? '' : `(${values.map(printLiteral).join(', ')})`
  const explain = `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE looked_at${call}`
  // The first time a session reads catalogs too, to plan what is inside of functions.
  await sql.script(`SAVEPOINT looking; PREPARE looked_at AS ${text}`)
  await ask(sql, explain)
  await sql.script('ROLLBACK TO looking')
  const before = await readCounters(sql)
  const [row] = await ask<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(sql, explain)
  const counters = await readCounters(sql)
  await sql.script('ROLLBACK TO looking; DEALLOCATE looked_at')
  const plan = readPlan(row!['QUERY PLAN'][0].Plan, wholes)
  return addCounted(plan, before, counters, wholes)
}

interface Counter {
  readonly kind: 'r' | 'i'
  readonly scans: number
  readonly rows: number
}

/**
 * Of tables how often and how much was read from end to end, of indexes how often they were gone by and what
 * was found: in this transaction, inside of functions too, whose plans nobody sees.
 */
async function readCounters(sql: Sql): Promise<ReadonlyMap<string, Counter>> {
  const rows = await ask<Counter & { name: string }>(
    sql,
    `SELECT name, kind, scans, rows FROM (
        SELECT relname AS name, relkind AS kind, pg_stat_get_xact_numscans(oid)::int AS scans,
          pg_stat_get_xact_tuples_returned(oid)::int AS rows FROM pg_class
        WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace) counted WHERE scans > 0`,
  )
  return new Map(rows.map((row) => [row.name, row]))
}

function addCounted(
  plan: Look,
  before: ReadonlyMap<string, Counter>,
  counters: ReadonlyMap<string, Counter>,
  wholes: ReadonlyMap<string, string>,
): Look {
  const indexes = new Set(plan.indexes)
  const readWhole = new Set(plan.readWhole)
  let rows = 0
  for (const [name, { kind, scans, rows: found }] of counters) {
    const former = before.get(name)
    if (scans === former?.scans) continue
    rows += found - (former?.rows ?? 0)
    if (kind === 'i') indexes.add(wholes.get(name) ?? name)
    else readWhole.add(withoutDay(name))
  }
  return { indexes, readWhole, pages: plan.pages, rows: Math.max(plan.rows, rows) }
}

/** For EXECUTE. */
export function printLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  return pg.escapeLiteral(Array.isArray(value) ? `{${value.map(printElement).join(',')}}` : printWord(value))
}

function printElement(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  return `"${printWord(value).replace(/["\\]/g, '\\$&')}"`
}

function printWord(value: unknown): string {
  if (value instanceof Date) return value.toISOString()
  return Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value)
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly PlanNode[]
}

function readPlan(root: PlanNode, wholes: ReadonlyMap<string, string>): Look {
  const nodes = walk(root).filter((node) => node['Actual Loops'] > 0)
  const indexes = nodes.flatMap((node) => node['Index Name'] ?? [])
  const whole = nodes.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name']!)
  return {
    indexes: new Set(indexes.map((name) => wholes.get(name) ?? name)),
    readWhole: new Set(whole.map(withoutDay)),
    pages: root['Shared Hit Blocks'] + root['Shared Read Blocks'],
    rows: nodes.reduce((total, node) => total + rowsOf(node), 0),
  }
}

function walk(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(walk)]
}

function rowsOf(node: PlanNode): number {
  const removed =
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Join Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0)
  return (node['Actual Rows'] + removed) * node['Actual Loops']
}

function note(looks: Looks, name: string, seen: Look): void {
  const before = looks.get(name)
  looks.set(name, {
    indexes: new Set([...(before?.indexes ?? []), ...seen.indexes]),
    readWhole: new Set([...(before?.readWhole ?? []), ...seen.readWhole]),
    pages: Math.max(before?.pages ?? 0, seen.pages),
    rows: Math.max(before?.rows ?? 0, seen.rows),
  })
}

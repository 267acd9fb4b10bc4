/** Outcomes as one table, a row a scenario. */
import type { Busy, Outcome } from './run.ts'
import type { Scenario } from './scenario.ts'

export interface Row {
  readonly scenario: Scenario
  readonly outcome: Outcome
}

const names: Record<keyof Busy, string> = {
  nodes: "nodes' threads",
  postgres: "PostgreSQL's cores",
  log: "the log's disk",
  parts: "the parts' locks",
  notifications: 'commits that notify',
  lanes: 'attempts at once to a webhook',
}

const columns: readonly [string, (row: Row) => string][] = [
  ['events/s', ({ scenario }) => whole(scenario.load.eventsPerSecond)],
  ['a request', ({ scenario }) => whole(scenario.load.eventsAtOnce)],
  ['webhooks', ({ scenario }) => whole(scenario.webhooks)],
  ['nodes', ({ scenario }) => whole(scenario.nodes)],
  ['shards', ({ scenario }) => whole(scenario.shards)],
  ['cores', ({ scenario }) => whole(scenario.machine.postgresCores)],
  ['deliveries/s', ({ outcome }) => whole(outcome.deliveriesPerSecond)],
  ['node', ({ outcome }) => share(outcome.busy.nodes)],
  ['PostgreSQL', ({ outcome }) => share(outcome.busy.postgres)],
  ['part', ({ outcome }) => share(outcome.busy.parts)],
  ['at once', ({ outcome }) => share(outcome.atOnceShare)],
  ['log MB/s', ({ outcome }) => whole(outcome.logMegabytesPerSecond)],
  ['p50 ms', ({ outcome }) => whole(outcome.p50Ms)],
  ['p95', ({ outcome }) => whole(outcome.p95Ms)],
  ['p99', ({ outcome }) => whole(outcome.p99Ms)],
  ['backlog grows/s', ({ outcome }) => (outcome.isSaturated ? whole(outcome.backlogGrowthPerSecond) : '–')],
  ['bottleneck', ({ outcome }) => `${outcome.isSaturated ? '' : 'next: '}${names[outcome.bottleneck]}`],
]

export function printOutcomes(rows: readonly Row[]): string {
  return printColumns(columns, rows)
}

export function printColumns<Item>(wanted: readonly [string, (row: Item) => string][], rows: readonly Item[]): string {
  const cells = [wanted.map(([title]) => title), ...rows.map((row) => wanted.map(([, print]) => print(row)))]
  const widths = wanted.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)))
  const lines = cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  '))
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`
}

export function whole(value: number): string {
  return (value < 10 ? Math.round(value * 10) / 10 : Math.round(value)).toLocaleString('en')
}

function share(value: number): string {
  return `${Math.round(value * 100)} %`
}

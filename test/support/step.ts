/** A statement as a step: which tables of the engine it reads, adds to and changes; and which steps may change places unseen. */
import type { Statement } from '../../src/database/database.ts'

export interface Step {
  readonly name: string
  readonly reads: ReadonlySet<string>
  /** Nobody waits for what is added, and nobody sees it before the commit. */
  readonly adds: ReadonlySet<string>
  /** Locked until the commit. */
  readonly changes: ReadonlySet<string>
  /** Nobody may so much as read it. */
  readonly closes: ReadonlySet<string>
  /** What it did is seen from now on, and what it held is free. */
  readonly isCommit: boolean
}

const tables = new Set(
  `events inbox inbox_reads branch_log branch_days queued_deliveries settled_deliveries attempts
   lanes webhooks partners replays deliveries unfinished_deliveries`.split(/\s+/),
)

/** Undefined for what touches none of the engine's tables. */
export function stepOf({ name, text }: Statement, values: readonly unknown[], isCommit: boolean): Step | undefined {
  const found = (pattern: RegExp) =>
    [...text.matchAll(pattern)].map((match) => match[1]!.replace(/_d\d+$/, '')).filter((each) => tables.has(each))
  const reads = new Set(found(/(?:FROM|JOIN|USING) (\w+)/g))
  // A view over both.
  if (reads.delete('deliveries') || reads.delete('unfinished_deliveries'))
    reads.add('queued_deliveries').add('settled_deliveries')
  const adds = new Set(found(/INSERT INTO (\w+)/g))
  const changes = new Set([...found(/UPDATE (\w+)/g), ...found(/DELETE FROM (\w+)/g)])
  // By a trigger.
  if (changes.has('partners')) changes.add('lanes')
  if (/FOR (NO KEY )?UPDATE/.test(text)) changes.add(found(/FROM (\w+)/g)[0]!)
  if (/advisory_xact_lock/.test(text)) changes.add(`part ${values[0]}`)
  // Which transactions are under way is seen before any of them commits.
  if (/pg_current_snapshot/.test(text) || adds.has('inbox')) changes.add('under way')
  const closes = new Set([...found(/LOCK TABLE (\w+)/g), ...(name === 'drop_day' ? [String(values[0])] : [])])
  const step = { name: name === '' ? text.slice(0, 40) : name, reads, adds, changes, closes, isCommit }
  return touched(step).size === 0 ? undefined : step
}

/** Undefined when there is nothing to be seen of it. */
export function committing(done: readonly Step[]): Step | undefined {
  const all = (of: (step: Step) => ReadonlySet<string>) => new Set(done.flatMap((step) => [...of(step)]))
  const step = {
    ...{ name: 'commit', isCommit: true, reads: all((each) => each.reads) },
    ...{ adds: all((each) => each.adds), changes: all((each) => each.changes), closes: all((each) => each.closes) },
  }
  return step.adds.size + step.changes.size + step.closes.size === 0 ? undefined : step
}

export function isIndependent(one: Step, other: Step): boolean {
  return !meets(one, other) && !meets(other, one)
}

/** Whether the other waits for the one, or sees what it has done. */
function meets(one: Step, other: Step): boolean {
  if (shares(one.changes, other.changes) || shares(one.closes, touched(other))) return true
  return one.isCommit && (shares(one.adds, seen(other)) || shares(one.changes, seen(other)))
}

/** A commit looks at nothing. */
function seen({ name, reads, changes }: Step): ReadonlySet<string> {
  return name === 'commit' ? changes : new Set([...reads, ...changes])
}

function touched({ reads, adds, changes, closes }: Step): ReadonlySet<string> {
  return new Set([...reads, ...adds, ...changes, ...closes])
}

function shares(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return [...some].some((each) => others.has(each))
}

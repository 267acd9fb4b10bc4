/** A plan in words: for people what is made, changed and proposed, in colours; for programs the same as fields. */
import { isDeepStrictEqual } from 'node:util'
import type { FieldChange } from '../documents/administration.ts'
import { keyOf, printSpot } from '../documents/document.ts'
import type { PlannedStep } from '../documents/plan.ts'
import { readJwksValue } from '../partners/jwks.ts'
import type { Printer, SayTone } from './command.ts'

type Outcome = PlannedStep['outcome']

const marks: Readonly<Record<Outcome, readonly [mark: string, tone: SayTone, words: string]>> = {
  created: ['+', 'good', 'create'],
  changed: ['~', 'changed', 'change'],
  proposed: ['?', 'proposed', 'propose'],
  waiting: ['…', 'proposed', 'proposed already: waits for another person'],
  blocked: ['…', 'proposed', 'not yet'],
  unchanged: [' ', 'faint', 'unchanged'],
  removed: ['-', 'bad', 'remove'],
  kept: ['!', 'bad', 'cannot be removed'],
}

/** What stays as it is is counted alone. */
export function sayPlan(
  print: Printer,
  steps: readonly PlannedStep[],
  { prunes }: { prunes: boolean },
): void {
  for (const step of steps) {
    if (step.outcome === 'unchanged') continue
    const [mark, tone, words] = marks[step.outcome]
    const isSpared = step.outcome === 'removed' && !prunes
    const what = isSpared ? 'would be pruned: say --prune' : words
    const where = step.document ? `  ${printSpot(step.document.spot)}` : ''
    print.say(`${mark} ${keyOf(step)}: ${what}${where}`, isSpared ? 'faint' : tone)
    if (step.note) print.say(`    ${step.note}`, 'faint')
    for (const change of step.changes)
      print.say(`    ${sayChange(step.outcome, change)}`, change.proposed ? 'proposed' : undefined)
  }
  print.say(saySummary(steps, prunes))
}

function sayChange(outcome: Outcome, { field, before, after, proposed }: FieldChange): string {
  const say = field === 'spec.jwks' ? showKeys : show
  const values = outcome === 'created' && !proposed ? say(after) : `${say(before)} → ${say(after)}`
  return `${field}: ${values}${proposed ? '  (proposed: another person decides)' : ''}`
}

function show(value: unknown): string {
  if (value === null || value === undefined) return '–'
  if (Array.isArray(value) && value.every((each) => typeof each === 'string'))
    return value.length === 0 ? 'none' : value.join(' ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** By their thumbprints; what is no set of keys as it stands. */
function showKeys(value: unknown): string {
  const { keys, problems } = readJwksValue(value)
  const isEmpty = isDeepStrictEqual(value, { keys: [] })
  return problems.length > 0 && !isEmpty ? show(value) : show(keys.map(({ thumbprint }) => thumbprint))
}

export function summarize(steps: readonly PlannedStep[]): Partial<Record<Outcome, number>> {
  return Object.fromEntries(
    [...Map.groupBy(steps, ({ outcome }) => outcome)].map(([each, some]) => [each, some.length]),
  )
}

const summaryWords: Readonly<Record<Outcome, string>> = {
  created: 'to create',
  changed: 'to change',
  proposed: 'to propose',
  waiting: 'proposed already',
  blocked: 'not yet',
  unchanged: 'unchanged',
  removed: 'to remove',
  kept: 'not to be removed',
}

function saySummary(steps: readonly PlannedStep[], prunes: boolean): string {
  const counts = summarize(steps)
  const words = (Object.keys(summaryWords) as Outcome[]).flatMap((each) =>
    counts[each]
      ? [`${counts[each]} ${each === 'removed' && !prunes ? 'not in the documents' : summaryWords[each]}`]
      : [],
  )
  return `${words.length === 0 ? 'There are no documents' : words.join(', ')}.`
}

/** For programs. */
export function describeStep({ kind, name, outcome, changes, proposals, note, document }: PlannedStep) {
  return {
    ...{ kind, name, outcome, changes, proposals },
    ...(note !== undefined && { note }),
    ...(document && { file: document.spot.file, document: document.spot.number }),
  }
}

/** What a partner chooses for a webhook beside its URL, its kinds and its secret. */

import { type FieldProblem, Invalid } from '../../problem.ts'
import { actions as allActions, type Kind, kinds } from '../events/kind.ts'
import { sendLimits } from '../outbound/send-limit.ts'
import { findLineProblem } from './note.ts'
import { findHeaderProblems, type HeaderChange } from './webhook-headers.ts'

/** The actions that are wanted of a kind; of a kind that is not named, all. */
export type Actions = Readonly<Partial<Record<Kind, readonly string[]>>>

export interface WebhookSettings {
  readonly actions: Actions
  /** Attempts a second at most. */
  readonly rateLimit: number | null
  readonly description: string
}

export interface SettingsChange extends Partial<WebhookSettings> {
  readonly headers?: HeaderChange
}

export const usualSettings: WebhookSettings = { actions: {}, rateLimit: null, description: '' }

/** What stands after the change. Actions that were named of a kind that is no longer wanted go with it. */
export function settle(
  before: WebhookSettings,
  change: SettingsChange,
  wanted: readonly Kind[],
): WebhookSettings {
  const actions = change.actions ?? pick(before.actions, wanted)
  return {
    actions: inOrder(actions),
    rateLimit: change.rateLimit === undefined ? before.rateLimit : change.rateLimit,
    description: (change.description ?? before.description).trim(),
  }
}

function pick(actions: Actions, wanted: readonly Kind[]): Actions {
  return Object.fromEntries(Object.entries(actions).filter(([kind]) => wanted.some((each) => each === kind)))
}

/** Each once, in the order of the table; none named means all, as if the kind were not there. */
function inOrder(actions: Actions): Actions {
  const named = kinds.map(
    (kind) => [kind, allActions[kind].filter((action) => actions[kind]?.includes(action))] as const,
  )
  return Object.fromEntries(named.filter(([, some]) => some.length > 0))
}

/** What of a change the audit log keeps: of headers their names. */
export function namesOf({ actions, rateLimit, description, headers }: SettingsChange) {
  return {
    ...(actions && { actions }),
    ...(rateLimit !== undefined && { rateLimit }),
    ...(description !== undefined && { description }),
    ...(headers && { headers: Object.keys(headers) }),
  }
}

export function findSettingsProblems(change: SettingsChange, wanted: readonly Kind[]): FieldProblem[] {
  return [
    ...findActionProblems(change.actions ?? {}, wanted),
    ...findRateProblems(change.rateLimit ?? null),
    ...findDescriptionProblems(change.description ?? ''),
    ...findHeaderProblems(change.headers ?? {}),
  ]
}

function findActionProblems(actions: Actions, wanted: readonly Kind[]): FieldProblem[] {
  return Object.entries(actions).flatMap(([name, named]) => {
    const kind = wanted.find((each) => each === name)
    if (!kind) return [{ field: 'actions', problem: `names ${name}, which is not among the kinds` }]
    const known: readonly string[] = allActions[kind]
    const unknown = named.find((action) => !known.includes(action))
    if (unknown === undefined && named.length > 0) return []
    return [{ field: 'actions', problem: `must name some of ${known.join(', ')} for ${kind}` }]
  })
}

function findRateProblems(rateLimit: number | null): FieldProblem[] {
  const { least, most } = sendLimits
  if (rateLimit === null || (Number.isInteger(rateLimit) && rateLimit >= least && rateLimit <= most))
    return []
  return [
    { field: 'rateLimit', problem: `must be a whole number from ${least} to ${most}, or empty for no limit` },
  ]
}

function findDescriptionProblems(description: string): FieldProblem[] {
  const problem = findLineProblem(description.trim())
  return problem === undefined ? [] : [{ field: 'description', problem }]
}

/**
 * Headers were given for one server. A user who may change the URL must not learn by it values that are never
 * shown.
 */
export function refuseStrangeHost(
  before: string,
  after: string,
  names: readonly string[],
  change: HeaderChange = {},
): void {
  const { origin } = new URL(before)
  const kept = names.filter(
    (name) => !Object.keys(change).some((given) => given.trim().toLowerCase() === name),
  )
  if (kept.length === 0 || new URL(after).origin === origin) return
  throw new Invalid([
    {
      field: 'headers',
      problem: `were given for ${origin}: for another host, give ${kept.join(', ')} again or remove them`,
    },
  ])
}

/**
 * Brings about what was planned, a document at a time: each is one transaction of the gateway, and is done
 * only while the thing is as it was when it was planned. The first that fails ends it; whoever begins again
 * finds done what was done.
 */
import type { Administration } from './administration.ts'
import { findNamed, type HouseDocument, keyOf } from './document.ts'
import { bodyOf, type PlannedStep, type PlanOptions, reasonOf, removalReason } from './plan.ts'

/** Whether something is to be done. */
export function isToDo({ outcome }: PlannedStep, prunes: boolean): boolean {
  return (
    outcome === 'created' ||
    outcome === 'changed' ||
    outcome === 'proposed' ||
    (prunes && outcome === 'removed')
  )
}

/** Each as it came out. */
export async function* applyPlan(
  administration: Administration,
  steps: readonly PlannedStep[],
  options: PlanOptions,
): AsyncGenerator<PlannedStep> {
  const absent = new Set<string>()
  for (const [index, step] of steps.entries()) {
    options.progress(`${index + 1} of ${steps.length}: ${keyOf(step)}`)
    const done = await applyStep(administration, step, absent, options)
    if (done.etag === undefined && done.outcome !== 'created') absent.add(keyOf(done))
    yield done
  }
}

async function applyStep(
  administration: Administration,
  step: PlannedStep,
  absent: ReadonlySet<string>,
  options: PlanOptions,
): Promise<PlannedStep> {
  const { kind, name, document } = step
  if (!document) {
    const condition = { etag: step.etag, reason: removalReason(options), isDryRun: false }
    return { ...step, ...(await administration.remove(kind, name, condition)) }
  }
  const missing = findNamed(document).find((each) => absent.has(each))
  if (missing !== undefined)
    return { ...step, outcome: 'blocked', changes: [], note: `waits for ${missing}, which is only proposed` }
  const etag = step.isUnjudged ? await findEtag(administration, document) : step.etag
  const condition = { etag, reason: reasonOf(document, options), isDryRun: false }
  const { note: _, ...judged } = step
  return { ...judged, etag, ...(await administration.put(kind, name, bodyOf(document, options), condition)) }
}

/** What it names was made a moment ago, and may have brought it along. */
async function findEtag(
  administration: Administration,
  { kind, name }: HouseDocument,
): Promise<string | undefined> {
  return (await administration.find(kind, name))?.etag
}

/**
 * Where an act leads: to the page of whom it was done to, or back to the queue that it was done from. Either
 * says what was done, with the way back or a link: to whom it was done to, or to what the log has of them.
 */
import { leadToDone, type Undo } from '../../frame/flash-message.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Operator } from '../../gates/gates.ts'
import { mayFollow } from './console.ts'

interface ActReport {
  /** The page of whom it was done to. */
  readonly path: string
  /** As the log has it, such as `user:id-…`. */
  readonly about: string
  /** What they are called. */
  readonly name: string
  readonly text: string
  readonly undo?: Undo | undefined
  /** As the form says it: `queue` where the attention queue printed it. */
  readonly from?: string | undefined
}

export function goBack(visit: Visit, operator: Operator, { path, about, name, text, undo, from }: ActReport) {
  const isFromQueue = from === 'queue'
  const audit = { path: `/console/audit?${new URLSearchParams({ subject: about })}`, label: 'Audit entries' }
  const onward = mayFollow(operator, audit.path) ? audit : { path: '/console', label: 'Overview' }
  const back = undo && { undo: isFromQueue ? { ...undo, fields: { ...undo.fields, from: 'queue' } } : undo }
  if (isFromQueue)
    return leadToDone(visit, operator, '/console', {
      text: `${name}: ${text}`,
      link: { path, label: 'Open' },
      ...back,
    })
  return leadToDone(visit, operator, path, { text, link: onward, ...back })
}

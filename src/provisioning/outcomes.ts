/** What comes of records, and of the files that they come in. */
import type { FieldProblem } from '../problem.ts'

export const allowedModes = ['changes', 'snapshot'] as const
export type ImportMode = (typeof allowedModes)[number]
export const importStates = ['running', 'needs approval', 'removing', 'finished', 'stopped'] as const

export const outcomes = [
  'created',
  'changed',
  'removed',
  'unchanged',
  'skipped',
  'waiting',
  'failed',
] as const
export type RecordOutcome = (typeof outcomes)[number]
export type RecordCounts = Readonly<Record<RecordOutcome, number>>

export interface LineFault extends FieldProblem {
  readonly line: number
}

export interface MergeResult extends RecordCounts {
  readonly faults: readonly LineFault[]
}

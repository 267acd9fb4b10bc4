/** What the processes of a node say to each other. */
import type { CollectedMetrics } from '../metrics/metrics.ts'
import type { NodeAddresses } from '../vocabulary/environment.ts'

/** Asked of the parent, which counts for all. Answered by a number. */
export type SiblingQuestion =
  | {
      readonly kind: 'count'
      readonly limit: string
      readonly window: number
      readonly key: string
      readonly allowed: number
      /** Whether the other processes are to know of it. */
      readonly tell: boolean
    }
  | { readonly kind: 'take'; readonly places: string; readonly key: string; readonly most: number }

export interface LimitCount {
  readonly limit: string
  readonly window: number
  readonly key: string
  readonly used: number
}

/** The proofs that a child took in one turn, on their way to its siblings. */
interface SpentMessage {
  readonly kind: 'spent'
  readonly proofs: readonly number[]
}

export type ChildMessage =
  | { readonly kind: 'ready'; readonly addresses: NodeAddresses }
  | { readonly kind: 'failed'; readonly message: string }
  /** Those of one moment travel together. */
  | { readonly kind: 'ask'; readonly number: number; readonly questions: readonly SiblingQuestion[] }
  | SpentMessage
  | { readonly kind: 'leave'; readonly places: string; readonly key: string }
  | { readonly kind: 'metrics'; readonly number: number; readonly metrics: CollectedMetrics }

export type ParentMessage =
  | { readonly kind: 'answer'; readonly number: number; readonly answers: readonly number[] }
  | { readonly kind: 'tell'; readonly counted: readonly LimitCount[] }
  | SpentMessage
  | { readonly kind: 'collect'; readonly number: number }

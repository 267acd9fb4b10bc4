/** What the attention queue is made of: rows, and the kinds that find them. */
import type { Context } from '../../../context.ts'
import type { Environment } from '../../../vocabulary/environment.ts'
import type { Permission } from '../../../vocabulary/permission.ts'
import type { LaneStates } from '../../../webhooks/health/lane-state.ts'
import type { Content } from '../../frame/html.ts'
import type { Operator } from '../../gates/gates.ts'

/** In this order. */
export const urgencies = ['now', 'soon', 'decide', 'know'] as const
export type Urgency = (typeof urgencies)[number]

export interface AttentionRow {
  readonly urgency: Urgency
  /** What is of the live site, or of neither, comes first. */
  readonly environment?: Environment
  /** Such as `Application`. */
  readonly kind: string
  readonly title: Content
  readonly reason: Content
  /** What it is sorted by. */
  readonly since: Date
  readonly age: Content
  readonly acts?: Content
}

/** Of each kind so many rows are shown, and others counted beyond, up to a bound. */
export const shownEach = 5
export const countedEach = 100

/** One source of rows. What is asked for each row by itself is asked for those that are shown. */
export interface AttentionKind {
  /** `and 37 more applications` */
  readonly plural: string
  /** Where all of them are. */
  readonly all: string
  /** An operator who lacks it can do nothing about them, and does not see them. */
  readonly permission: Permission
  find(context: AttentionContext, most: number): Promise<AttentionRow[]>
}

export interface AttentionContext extends Pick<Context, 'db' | 'config' | 'vault'> {
  readonly now: Date
  readonly lanes: () => Promise<LaneStates>
  readonly operator: Pick<Operator, 'forms' | 'may'>
}

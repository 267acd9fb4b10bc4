/**
 * A verification of the chain beside the other work of a node: one at a time; callers that ask meanwhile join
 * it. What it found is an entry of the log, so that every node can show it; how far it is, only the node that
 * runs it.
 */

import { Conflict } from '../problem.ts'
import { cut } from '../text/cut.ts'
import type { AnchorDependencies } from './anchor.ts'
import { type AnchorReport, compareAnchors } from './anchor-check.ts'
import { type Act, recordAct } from './audit.ts'
import { type ChainHead, printHead } from './block.ts'
import { containsHead, findHead, type Verification, verifyChain } from './chain.ts'

/** What entries about the log itself are about. */
export const logSubject = 'audit:log'
const anchorsAtMost = 20

interface CheckedAnchor {
  readonly anchor: string
  readonly contained: boolean
}

export type CheckState =
  | { readonly kind: 'none' }
  | { readonly kind: 'running'; readonly startedAt: Date; readonly position: number; readonly blocks: number }
  | { readonly kind: 'failed'; readonly startedAt: Date }
  | (Verification & {
      readonly finishedAt: Date
      readonly anchors: readonly CheckedAnchor[]
      /** What this node wrote down earlier; undefined where it did not. */
      readonly written: AnchorReport | undefined
    })

export interface ChainCheck {
  state(): CheckState
  /** True when this began one; false when it joined the one that runs. */
  start(act: Act, anchor: ChainHead | undefined): boolean
  close(): Promise<void>
}

class CheckAbort extends Error {}

export function openChainCheck({ db, vault, clock, log, file }: AnchorDependencies): ChainCheck {
  let state: CheckState = { kind: 'none' }
  let running: Promise<void> | undefined
  let isClosing = false
  const anchors = new Map<string, ChainHead>()

  const run = async ({ by, at: startedAt }: Act) => {
    const { position: blocks } = await findHead(db)
    const result = await verifyChain(db, startedAt, (position) => {
      if (isClosing) throw new CheckAbort('The gateway is closing.')
      state = { kind: 'running', startedAt, position, blocks: Math.max(blocks, position) }
    })
    const written = file === undefined ? undefined : await compareAnchors(db, vault, file)
    const checked = new Map<string, CheckedAnchor>()
    const check = async () => {
      for (const [anchor, head] of anchors)
        if (!checked.has(anchor)) checked.set(anchor, { anchor, contained: await containsHead(db, head) })
      return [...checked.values()]
    }
    const finishedAt = clock.now()
    await recordAct(
      db,
      { by, at: finishedAt },
      'audit.verified',
      logSubject,
      describe(result, await check(), written),
    )
    // Callers that joined while that was written are answered too, and none can join between this and the
    // end.
    const answered = await check()
    end({ ...result, finishedAt, anchors: answered, written })
  }

  const end = (found: CheckState) => {
    state = found
    running = undefined
    anchors.clear()
  }

  return {
    state: () => state,
    start(act, anchor) {
      if (isClosing) throw new Conflict('This node is closing. Try again in a moment.')
      const text = anchor && printHead(anchor)
      if (text !== undefined && anchors.size >= anchorsAtMost && !anchors.has(text))
        throw new Conflict(
          'Too many anchors are being checked at once. Wait until this verification has ended.',
        )
      if (anchor && text !== undefined) anchors.set(text, anchor)
      if (running) return false
      const startedAt = act.at
      state = { kind: 'running', startedAt, position: 0, blocks: 0 }
      running = run(act).catch((error: unknown) => {
        log.error({ err: error }, 'the audit chain could not be verified')
        end({ kind: 'failed', startedAt })
      })
      return true
    },
    async close() {
      isClosing = true
      await running
    },
  }
}

function describe(
  result: Verification,
  anchors: readonly CheckedAnchor[],
  written: AnchorReport | undefined,
): Record<string, unknown> {
  const missing = anchors.filter(({ contained }) => !contained).map(({ anchor }) => anchor)
  const told = {
    ...(anchors.length > 0 && { anchors: anchors.length, missingAnchors: missing }),
    ...(written && { writtenAnchors: written.anchors, problems: written.problems }),
  }
  if (result.kind === 'broken')
    return { intact: false, position: result.position, problem: cut(result.problem, 300), ...told }
  return { intact: true, entries: result.entries, head: printHead(result.head), ...told }
}

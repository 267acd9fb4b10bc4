/** Runs checks one after the other, each with its time, and skips those whose ground is missing. */

import { messageOf } from '../text/thrown.ts'
import type { Answer, Finding, Result } from './finding.ts'
import { fail } from './finding.ts'

/** What a check established, by the name of the check. */
export interface CheckFact<Value> {
  readonly check: string
  readonly value: Value | undefined
}

export interface Round {
  readonly results: readonly Result[]
  /** Skipped when what it needs is not known. */
  ask<Needed, Value = undefined>(
    check: string,
    needed: CheckFact<Needed>,
    look: (needed: Needed) => Promise<Answer<Value>> | Answer<Value>,
    timeoutMs?: number,
  ): Promise<CheckFact<Value>>
}

export const nothing: CheckFact<true> = { check: '', value: true }

export function both<One, Other>(one: CheckFact<One>, other: CheckFact<Other>): CheckFact<[One, Other]> {
  const missing = one.value === undefined ? one : other
  const isKnown = one.value !== undefined && other.value !== undefined
  return { check: missing.check, value: isKnown ? [one.value, other.value] : undefined }
}

export function openRound(checkMs: number): Round {
  const results: Result[] = []
  return {
    results,
    async ask(check, needed, look, timeoutMs = checkMs) {
      if (needed.value === undefined) {
        results.push({ check, state: 'skipped', found: `It needs what "${needed.check}" did not find.` })
        return { check, value: undefined }
      }
      const { finding, value } = await settle(look, needed.value, timeoutMs)
      results.push({ check, ...finding })
      return { check, value }
    },
  }
}

/** Whatever happens, it is a finding. */
async function settle<Needed, Value>(
  look: (needed: Needed) => Promise<Answer<Value>> | Answer<Value>,
  needed: Needed,
  timeoutMs: number,
): Promise<Answer<Value>> {
  const { promise: tooLate, resolve } = Promise.withResolvers<Answer<Value>>()
  const timer = setTimeout(() => resolve({ finding: silence(timeoutMs) }), timeoutMs)
  try {
    return await Promise.race([look(needed), tooLate])
  } catch (error) {
    return {
      finding: fail(
        messageOf(error),
        'Nobody expected this; the log of PostgreSQL or of the gateway may say more.',
      ),
    }
  } finally {
    clearTimeout(timer)
  }
}

function silence(timeoutMs: number): Finding {
  return fail(
    `There was no answer within ${timeoutMs / 1000} s.`,
    'Find out what hangs: the network, or a busy machine.',
  )
}

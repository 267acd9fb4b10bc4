/**
 * In a child: the line to the parent, which counts for all. What is asked in one turn of the event loop
 * travels together, so that a busy process asks a few hundred times a second whatever it answers. A parent
 * that is gone or hangs is not waited for: then the process counts for itself.
 */

import type { Sibling } from '../gateway/sibling.ts'
import { openTakenPlaces, type Places } from '../http/places.ts'
import { type LocalTally, openTally, type Tally } from '../http/tally.ts'
import { openSpentProofs, type SpentProofs } from '../oauth/spent-proofs.ts'
import type { ChildMessage, ParentMessage, SiblingQuestion } from './messages.ts'

const answerTimeoutMs = 1_000

interface PendingQuestion {
  readonly question: SiblingQuestion
  readonly answer: (answer: number | undefined) => void
  isGivenUp?: boolean
}

interface Line {
  readonly openTally: Sibling['openTally']
  readonly openPlaces: Sibling['openPlaces']
  readonly openSpentProofs: Sibling['openSpentProofs']
  hear(message: ParentMessage): void
}

export function openLine(send: (message: ChildMessage) => void): Line {
  const known = new Map<string, LocalTally>()
  const underWay = new Map<number, readonly PendingQuestion[]>()
  let waiting: PendingQuestion[] = []
  let number = 0
  let proofs: SpentProofs | undefined
  let spent: number[] = []

  function ask(question: SiblingQuestion): Promise<number | undefined> {
    return new Promise((answer) => {
      if (waiting.length === 0) setImmediate(sendAll)
      waiting.push({ question, answer })
    })
  }
  function sendAll(): void {
    const pending = waiting
    waiting = []
    const batchNumber = ++number
    underWay.set(batchNumber, pending)
    setTimeout(() => giveUp(batchNumber), answerTimeoutMs).unref()
    send({ kind: 'ask', number: batchNumber, questions: pending.map(({ question }) => question) })
  }
  function giveUp(which: number): void {
    for (const each of underWay.get(which) ?? []) {
      each.isGivenUp = true
      each.answer(undefined)
    }
  }
  /** A place that is granted too late is given back. */
  function settle(which: number, answers: readonly number[]): void {
    const pending = underWay.get(which) ?? []
    underWay.delete(which)
    for (const [place, { question, answer, isGivenUp }] of pending.entries())
      if (!isGivenUp) answer(answers[place])
      else if (question.kind === 'take' && answers[place] === 1) send({ ...question, kind: 'leave' })
  }

  function openSharedTally(limit: string, tell: boolean): Tally {
    const own = openTally()
    known.set(limit, own)
    return {
      get isQuiet() {
        return own.isQuiet
      },
      find: own.find,
      async count(window, key, allowed) {
        const used = await ask({ kind: 'count', limit, window, key, allowed, tell })
        if (used === undefined) return own.count(window, key, allowed)
        if (used <= allowed) own.learn(window, key, used)
        return used
      },
    }
  }
  function openSharedPlaces(places: string, most: number): Places {
    const own = openTakenPlaces()
    return {
      async take(key) {
        const taken = await ask({ kind: 'take', places, key, most })
        if (taken === undefined) return own.take(key, most) ? () => own.leave(key) : undefined
        return taken === 1 ? () => send({ kind: 'leave', places, key }) : undefined
      },
    }
  }

  function tellSpent(proof: number): void {
    if (spent.length === 0) setImmediate(tellAllSpent)
    spent.push(proof)
  }
  function tellAllSpent(): void {
    send({ kind: 'spent', proofs: spent })
    spent = []
  }

  return {
    openTally: openSharedTally,
    openPlaces: openSharedPlaces,
    openSpentProofs(clock) {
      proofs = openSpentProofs(clock, { tell: tellSpent })
      return proofs
    },
    hear(message) {
      if (message.kind === 'answer') settle(message.number, message.answers)
      if (message.kind === 'spent') for (const proof of message.proofs) proofs?.learn(proof)
      if (message.kind !== 'tell') return
      for (const { limit, window, key, used } of message.counted) known.get(limit)?.learn(window, key, used)
    },
  }
}

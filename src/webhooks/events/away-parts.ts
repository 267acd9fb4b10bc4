/**
 * Where parts lie on other servers, one may be away while the others go on. What is asked of all parts says
 * which did not answer: their silence is not "nothing waits".
 */
import { setTimeout as wait } from 'node:timers/promises'
import { second } from '../../clock.ts'
import { type Database, DatabaseUnavailable } from '../../database/database.ts'
import { findPart } from './layout.sql.ts'
import { allParts, isDistributed, poolOf } from './part.ts'

/** A server that takes longer to answer is away, for who asks. */
const answerMs = second

export async function findAwayParts(db: Database): Promise<number[]> {
  if (!isDistributed()) return []
  const byServer = [...Map.groupBy(allParts, (part) => poolOf(db, part))]
  const away = await Promise.all(
    byServer.map(async ([server, parts]) => ((await answers(server, parts[0]!)) ? [] : parts)),
  )
  return away.flat().sort((one, other) => one - other)
}

export async function findPresentParts(db: Database): Promise<readonly number[]> {
  const away = new Set(await findAwayParts(db))
  return allParts.filter((part) => !away.has(part))
}

interface Question {
  readonly askedMs: number
  readonly answer: Promise<boolean>
}

/** Those that have no answer yet: of a server that hangs there is one, however many ask. */
const open = new WeakMap<Database, Question>()

async function answers(server: Database, part: number): Promise<boolean> {
  const question = open.get(server) ?? ask(server, part)
  const left = question.askedMs + answerMs - performance.now()
  return Promise.race([question.answer, wait(Math.max(0, left), false, { ref: false })])
}

function ask(server: Database, part: number): Question {
  const answer = server
    .query(findPart, { part })
    .then(
      () => true,
      (error: unknown) => {
        if (error instanceof DatabaseUnavailable) return false
        throw error
      },
    )
    .finally(() => open.delete(server))
  const question = { askedMs: performance.now(), answer }
  open.set(server, question)
  return question
}

export function printAwayParts(away: readonly number[]): string {
  const names = new Intl.ListFormat('en').format(away.map(String))
  return away.length === 1 ? `Part ${names} does not answer` : `Parts ${names} do not answer`
}

/**
 * What a node looks after beside answering, asked for by one statement: each thing that may have to be done
 * has its question in it, and only what has an answer is done. A house in which nothing happens costs a look
 * and no more.
 */
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import { openTask, type Repetition, repeat, type Task } from '../concurrency/repeat.ts'
import { instant } from './column.ts'
import type { Database } from './database.ts'
import { type Statement, statement } from './statement.ts'

const everyMs = 500

interface Chore {
  readonly name: string
  /**
   * An expression in SQL, where `round.now` is the time: what there is to do. Nothing, when it is false or an
   * empty array.
   */
  readonly question: string
  readonly work: (answer: unknown) => Promise<unknown>
}

export interface Rounds {
  add(chore: Chore): Repetition
  close(): Promise<void>
}

interface RoundsDependencies {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
}

export function openRounds({ db, clock, log }: RoundsDependencies): Rounds {
  const questions: string[] = []
  const tasks: Task<[unknown]>[] = []
  async function look(): Promise<void> {
    if (questions.length === 0) return
    const answers = await db.one(askAll(questions), { now: clock.now() })
    for (const [index, task] of tasks.entries()) if (isSomething(answers[index])) task.run(answers[index])
  }
  const looking = repeat(log, 'round', everyMs, look)
  return {
    add({ name, question, work }) {
      const task = openTask(log, name, work)
      questions.push(question)
      tasks.push(task)
      return task
    },
    close: looking.stop,
  }
}

/** Questions are only added, so that their number names the statement. */
function askAll(questions: readonly string[]): Statement<{ readonly now: Date }, Record<number, unknown>> {
  const columns = questions.map((question, index) => `${question} AS "${index}"`)
  const text = `SELECT ${columns.join(', ')} FROM (SELECT :now::timestamptz AS now) round`
  return statement({ name: `look_${questions.length}`, takes: { now: instant }, text })
}

function isSomething(answer: unknown): boolean {
  return Array.isArray(answer) ? answer.length > 0 : Boolean(answer)
}

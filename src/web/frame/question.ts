/** What the address of a list asks for: words that were typed, checked one by one. */

import type { Form } from '../../http/form.ts'
import { type FieldProblem, Invalid } from '../../problem.ts'
import { cut } from '../../text/cut.ts'
import { questionCharacters } from './field-lengths.ts'
import type { Draft } from './fields.ts'
import type { Html } from './html.ts'
import { parseMoment } from './moment.ts'
import { notice } from './page.ts'

export interface Question {
  text(name: string): string | undefined
  oneOf<Word extends string>(name: string, words: readonly Word[]): Word | undefined
  moment(name: string): Date | undefined
  /** A whole number from 1 on; what is none is wrong. */
  number(name: string): number | undefined
  refuse(problem: FieldProblem): void
  /** What was typed, and what is wrong with it. */
  draft(): Draft
  /** What is wrong beside the fields that the form has, such as the page's number. */
  printProblem(): Html | undefined
  /** The same question as an address would ask it, with more. */
  print(more?: Readonly<Record<string, string | number>>): string
}

/** `names` are the fields of the form; of each, no more than `longest` characters count. */
export function readQuestion(
  query: unknown,
  names: readonly string[],
  longest = questionCharacters,
): Question {
  const form = query as Form
  const problems: FieldProblem[] = []
  const values: Record<string, string> = {}
  const read = (name: string) => {
    const value = form[name]
    const text = (Array.isArray(value) ? value[0] : value)?.trim()
    return text === undefined || text === '' ? undefined : cut(text, longest)
  }
  for (const name of names) {
    const text = read(name)
    if (text !== undefined) values[name] = text
  }
  const refuse = (problem: FieldProblem) => void problems.push(problem)
  return {
    text: read,
    oneOf<Word extends string>(name: string, words: readonly Word[]) {
      const text = read(name)
      const word = words.find((each) => each === text)
      if (text !== undefined && word === undefined)
        refuse({ field: name, problem: `must be one of ${words.join(', ')}` })
      return word
    },
    moment(name) {
      const moment = parseMoment(read(name))
      if (moment === 'wrong') refuse({ field: name, problem: 'must be a moment such as 2026-03-02T10:00' })
      return moment === 'wrong' ? undefined : moment
    },
    number(name) {
      const text = read(name)
      if (text === undefined) return undefined
      if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
      refuse({ field: name, problem: 'must be a whole number' })
      return undefined
    },
    refuse,
    draft: () => ({ values, problem: problems.length > 0 ? new Invalid(problems) : undefined }),
    printProblem() {
      const elsewhere = problems.filter(({ field }) => !names.includes(field))
      const words = elsewhere.map(({ field, problem }) => `${field} ${problem}`).join('; ')
      return elsewhere.length > 0 ? notice('error', `${words}.`) : undefined
    },
    print(more = {}) {
      const pairs = Object.entries({ ...values, ...more }).map(([name, value]): [string, string] => [
        name,
        String(value),
      ])
      return new URLSearchParams(pairs).toString()
    },
  }
}

import type { FastifyRequest } from 'fastify'
import type { Form } from '../../http/form.ts'
import { Problem } from '../../problem.ts'
import type { Html } from './html.ts'
import { notice } from './page.ts'

/** What was just done, told by the page that follows. Only words of the table are told: an address cannot put others on a page. */
export function printDone(request: FastifyRequest, words: Readonly<Record<string, string>>): Html | undefined {
  const { done } = request.query as Form
  return typeof done === 'string' && Object.hasOwn(words, done) ? notice('success', words[done]) : undefined
}

/** A second click, or somebody else's id: either way the page then shows what is true. */
export function ignoreAlreadyGone(error: unknown): void {
  if (!(error instanceof Problem && error.status === 404)) throw error
}

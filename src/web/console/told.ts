/** What was just done, told by the page that follows; and what the address of a list asks for. */
import type { FastifyRequest } from 'fastify'
import type { Form } from '../../http/form.ts'
import type { Html } from '../html.ts'
import { notice } from '../page.ts'

/** Only words of the table are told: an address cannot put others on a page. */
export function printDone(request: FastifyRequest, words: Readonly<Record<string, string>>): Html | undefined {
  const done = asked(request, 'done')
  return done !== undefined && Object.hasOwn(words, done) ? notice('success', words[done]) : undefined
}

export function asked(request: FastifyRequest, name: string): string | undefined {
  const value = (request.query as Form)[name]
  const text = (Array.isArray(value) ? value[0] : value)?.replaceAll('\0', '').trim().slice(0, 100)
  return text === '' ? undefined : text
}

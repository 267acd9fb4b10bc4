/** Where an act leads: to the page of whom it was done to, or back to the queue that it was done from, which then says what was done. */
import type { FastifyRequest } from 'fastify'
import type { Sql } from '../../database/database.ts'
import type { Form } from '../../http/form.ts'
import { type Html, html } from '../frame/html.ts'
import { notice } from '../frame/page.ts'
import type { Visit } from '../frame/visit.ts'
import { findNames, printName } from './names.ts'

interface Done {
  /** The page of whom it was done to. */
  readonly path: string
  /** As the log has it, such as `user:id-…`. */
  readonly about: string
  readonly done: string
}

export function goBack({ request, reply }: Visit, { path, about, done }: Done) {
  const isFromQueue = (request.body as Form | undefined)?.from === 'queue'
  const query = new URLSearchParams({ done, about })
  return reply.redirect(isFromQueue ? `/console?${query}` : `${path}?done=${done}`, 303)
}

/** What was just done from the queue. Only words of the table and names of the database are told: an address cannot put others on a page. */
export async function printDoneTo(
  sql: Sql,
  request: FastifyRequest,
  words: Readonly<Record<string, string>>,
): Promise<Html | undefined> {
  const { done, about } = request.query as Form
  if (typeof done !== 'string' || typeof about !== 'string' || !Object.hasOwn(words, done)) return undefined
  const names = await findNames(sql, [about])
  return names.has(about) ? notice('success', html`${printName(about, names)}: ${words[done]}`) : undefined
}

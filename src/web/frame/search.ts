/**
 * One search, in the bar of every page of the console and of the portal: what was found, in groups. What is
 * alone is led to at once.
 */
import type { FastifyReply } from 'fastify'
import type { Context } from '../../context.ts'
import type { Form } from '../../http/form.ts'
import { cut } from '../../text/cut.ts'
import { parseEventName } from '../../webhooks/events/event-search.ts'
import { questionCharacters } from './field.ts'
import { type Content, type Html, html } from './html.ts'
import type { Visit } from './visit.ts'

interface Hit {
  readonly path: string
  readonly title: Content
  readonly about?: Content
}

interface Group extends Found {
  readonly label: string
}

interface Found {
  readonly hits: readonly Hit[]
  /** Where all of them are, when there are more. */
  readonly more?: string | undefined
}

/** One thing that can be found. A new one is a row of the table of the console's or of the portal's. */
export interface SearchKind<Reader, Sought> {
  readonly label: string
  /** What is looked for; undefined where the text can be none of these. */
  parse(text: string): Sought | undefined
  find(context: Context, sought: Sought, reader: Reader): Promise<Found>
}

/** One after the other: a search takes one connection to the database. */
export async function findGroups<Reader>(
  kinds: readonly SearchKind<Reader, unknown>[],
  context: Context,
  text: string,
  reader: Reader,
): Promise<Group[]> {
  const groups: Group[] = []
  for (const kind of kinds) {
    const sought = kind.parse(text)
    if (sought !== undefined)
      groups.push({ label: kind.label, ...(await kind.find(context, sought, reader)) })
  }
  return groups
}

/** Names and addresses; an event's name is neither. */
export function parseWords(text: string): string | undefined {
  return parseEventName(text) === undefined ? text : undefined
}

/** What a request may be called (`http/server.ts`). */
export function parseRequestId(text: string): string | undefined {
  return /^[\w.-]{1,40}$/.test(text) ? text : undefined
}

/** `find` gets what the reader seeks, `send` shows a page. */
export async function answerSearch(
  visit: Visit,
  hint: string,
  find: (sought: string) => Promise<Group[]>,
  send: (body: Html) => Promise<FastifyReply> | FastifyReply,
): Promise<FastifyReply> {
  const sought = readSought(visit)
  const groups = sought === undefined ? [] : await find(sought)
  const hits = groups.flatMap((group) => group.hits)
  if (hits.length === 1) return visit.reply.redirect(hits[0]!.path, 303)
  return send(printFound(sought, groups, hint))
}

/** What is sought; undefined for nothing, and for what no text of ours can hold. */
function readSought({ request }: Visit): string | undefined {
  const { q } = request.query as Form
  const text = cut(([q].flat()[0] ?? '').trim(), questionCharacters)
  return text === '' || text.includes('\0') ? undefined : text
}

function printFound(sought: string | undefined, groups: readonly Group[], hint: string): Html {
  const found = groups.filter(({ hits }) => hits.length > 0)
  const title = html`<h1>${sought === undefined ? 'Search' : html`Search: ${sought}`}</h1>`
  if (found.length === 0)
    return html`${title}<p class="card empty"
      role="status">${sought === undefined ? '' : 'Nothing was found. '}${hint}</p>`
  return html`${title}${found.map(printGroup)}`
}

function printGroup({ label, hits, more }: Group): Html {
  const items = hits.map(
    ({ path, title, about }) =>
      html`<li><div><a href="${path}"><strong>${title}</strong></a>${
        about !== undefined &&
        html`<br><span
        class="faint">${about}</span>`
      }</div></li>`,
  )
  return html`<section class="card"><h2>${label}</h2><ul
    class="tokens">${items}</ul>${
      more !== undefined &&
      html`<p><a href="${more}">All that
    match</a></p>`
    }</section>`
}

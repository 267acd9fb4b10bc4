/**
 * One search, in the bar of every page of the console and of the portal: what was found, in groups. What is
 * alone is led to at once.
 */
import type { FastifyReply } from 'fastify'
import type { Form } from '../../http/form.ts'
import { cut } from '../../text/cut.ts'
import { questionCharacters } from './field.ts'
import { type Content, type Html, html } from './html.ts'
import type { Visit } from './visit.ts'

export interface Hit {
  readonly path: string
  readonly title: Content
  readonly about?: Content
}

export interface Group {
  readonly label: string
  readonly hits: readonly Hit[]
  /** Where all of them are, when there are more. */
  readonly more?: string | undefined
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

/** One search, in the bar of every page of the console and of the portal: what was found, in groups. What is alone is led to at once. */
import type { FastifyReply } from 'fastify'
import { cut } from '../../cut.ts'
import type { Form } from '../../http/form.ts'
import { type Content, type Html, html } from './html.ts'
import type { Visit } from './visit.ts'

const longest = 300

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

/** What is sought; undefined for nothing, and for what no text of ours can hold. */
export function readSought({ request }: Visit): string | undefined {
  const { q } = request.query as Form
  const text = cut(([q].flat()[0] ?? '').trim(), longest)
  return text === '' || text.includes('\0') ? undefined : text
}

export function findOnly(groups: readonly Group[]): Hit | undefined {
  const hits = groups.flatMap((group) => group.hits)
  return hits.length === 1 ? hits[0] : undefined
}

export function leadTo({ reply }: Visit, { path }: Hit): FastifyReply {
  return reply.redirect(path, 303)
}

export function printFound(sought: string | undefined, groups: readonly Group[], hint: string): Html {
  const found = groups.filter(({ hits }) => hits.length > 0)
  const title = html`<h1>${sought === undefined ? 'Search' : html`Search: ${sought}`}</h1>`
  if (found.length === 0)
    return html`${title}<p class="card empty" role="status">${sought === undefined ? '' : 'Nothing was found. '}${hint}</p>`
  return html`${title}${found.map(printGroup)}`
}

function printGroup({ label, hits, more }: Group): Html {
  const items = hits.map(
    ({ path, title, about }) =>
      html`<li><div><a href="${path}"><strong>${title}</strong></a>${about !== undefined && html`<br><span class="faint">${about}</span>`}</div></li>`,
  )
  return html`<section class="card"><h2>${label}</h2><ul class="tokens">${items}</ul>${more !== undefined && html`<p><a href="${more}">All that match</a></p>`}</section>`
}

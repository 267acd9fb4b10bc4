/**
 * Above a list: the views of it that its reader has saved, the form that saves what is asked now, and what it
 * finds as a file.
 */
import { listViews, type SavedView } from '../../users/saved-view.ts'
import type { Environment } from '../../vocabulary/environment.ts'
import { asAsked, key, name, text } from './field.ts'
import { defineForm, type Fields } from './form.ts'
import { type Html, html } from './html.ts'
import type { Question } from './question.ts'
import type { Visit } from './visit.ts'
import type { UserSession } from './visitor.ts'

/** The lists of which views are saved, by their row of the table. */
export const viewedLists: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '/console/partners': 'Partners',
    '/console/users': 'Users',
    '/console/webhooks': 'Webhooks',
    '/console/audit': 'Audit log',
    '/partner/:branch/deliveries': 'Deliveries',
    '/partner/:branch/calls': 'API calls',
  }),
)

export const queryCharacters = 2_000
const pathCharacters = 100

export const viewsPage = '/account/views'

export const saveView = defineForm(
  `${viewsPage}/save`,
  {
    list: asAsked(text({ label: 'List', most: pathCharacters })),
    query: asAsked(text({ label: 'Question', most: queryCharacters })),
    name: name({ label: 'Name of this view', most: 60 }),
  },
  { heldBy: `${viewsPage}?list=:list&query=:query` },
)

/** Both say which of the views it is. */
export const removeView = defineForm(`${viewsPage}/remove`, { list: key(), name: key() })

/** What a list is called; undefined for what is none on this site. */
export function nameList(path: string, environment: Environment): string | undefined {
  const branch = /^\/partner\/(\d{1,10})\//.exec(path)?.[1]
  const row = branch === undefined ? path : path.replace(`/${branch}/`, '/:branch/')
  const list = viewedLists.get(row)
  if (list === undefined || (branch === undefined && environment === 'sandbox')) return undefined
  return branch === undefined ? list : `${list} of branch ${branch}`
}

export const ownerOf = ({ context }: Visit, { session }: UserSession) => ({
  userId: session.user.id,
  environment: context.environment,
})

export function addressOf({ path, query }: Pick<SavedView, 'path' | 'query'>): string {
  return `${path}?${query}`
}

/** `path` is where the list is, `question` what it is asked. */
export async function printListBar(
  visit: Visit,
  visitor: UserSession,
  path: string,
  question: Pick<Question<Fields>, 'isWrong' | 'printSearch'>,
  { hasFile = true } = {},
): Promise<Html> {
  const query = question.printSearch()
  const all = await listViews(visit.context.db, ownerOf(visit, visitor))
  const views = all.filter((view) => view.path === path)
  const links = views.map(
    (view) =>
      html`<a href="${addressOf(view)}"${view.query === query && html` aria-current="page"`}>${view.name}</a>`,
  )
  return html`<div class="list-bar">${
    views.length > 0 && html`<nav class="views" aria-label="Saved views">${links}</nav>`
  }<div class="acts">${!question.isWrong && printAct(views, { path, query }, visitor)}${
    hasFile && !question.isWrong && fileLink(path, query)
  }</div></div>`
}

function printAct(
  views: readonly SavedView[],
  { path, query }: Pick<SavedView, 'path' | 'query'>,
  { forms }: UserSession,
): Html | undefined {
  const current = views.find((view) => view.query === query)
  if (current)
    return forms.button(removeView, 'Remove this view', { standing: { list: path, name: current.name } })
  return query === '' ? undefined : printSaving({ path, query }, { forms })
}

export function printSaving(
  { path, query }: Pick<SavedView, 'path' | 'query'>,
  { forms }: Pick<UserSession, 'forms'>,
): Html {
  const options = { standing: { list: path, query }, label: 'Save this view', isGift: true } as const
  const text = 'You alone see it, above this list.'
  return forms.ask(saveView, { ...options, text }, (view) => view.field('name'))
}

/** Above a list of which no views are saved. */
export function printFileLink(path: string, query = ''): Html {
  return html`<div class="list-bar"><div class="acts">${fileLink(path, query)}</div></div>`
}

/** The file of a list that is asked nothing has everything. */
function fileLink(path: string, query: string): Html {
  const asked = query === '' ? 'format=csv' : `${query}&format=csv`
  return html`<a class="button" href="${path}?${asked}" download>CSV</a>`
}

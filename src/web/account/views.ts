/** The views of lists that a person has saved: each leads to its list, and can be removed. */

import { Invalid } from '../../problem.ts'
import { listViews, removeView as remove, type SavedView, saveView as save } from '../../users/saved-view.ts'
import { type FlashMessage, leadToDone } from '../frame/flash-message.ts'
import type { Submission } from '../frame/form.ts'
import { type Html, html } from '../frame/html.ts'
import * as views from '../frame/saved-views.ts'
import type { Visit } from '../frame/visit.ts'
import type { UserSession } from '../frame/visitor.ts'
import { sendAccountPage } from './account-page.ts'

export async function showViews(visit: Visit, visitor: UserSession) {
  const { context, query } = visit
  const saved = await listViews(context.db, views.ownerOf(visit, visitor))
  const asked = readView(visit, { list: firstOf(query.list), query: firstOf(query.query) })
  return sendAccountPage(visit, visitor, {
    title: 'Saved views',
    here: views.viewsPage,
    body: html`<h1>Saved views</h1>
${asked && html`<section class="card"><h2>${asked.label}</h2>${views.printSaving(asked, visitor)}</section>`}
${
  saved.length === 0
    ? html`<p class="card empty">You have saved no view of a list.</p>`
    : html`<section class="card"><ul class="tokens">${saved.map((view) => printView(view, visit, visitor))}</ul></section>`
}`,
  })
}

function printView(view: SavedView, { context }: Visit, { forms }: UserSession): Html {
  const list = views.nameList(view.path, context.environment)
  const standing = { list: view.path, name: view.name }
  return html`<li><div><a href="${views.addressOf(view)}"><strong>${view.name}</strong></a><br><span
    class="faint">${list}</span></div>
${forms.button(views.removeView, 'Remove', { standing, of: view.name })}</li>`
}

const firstOf = (value: string | readonly string[] | undefined) => [value ?? ''].flat()[0]!

/** Undefined for what is no question of a list. */
function readView({ context }: Visit, typed: { readonly list: string; readonly query: string }) {
  const label = views.nameList(typed.list, context.environment)
  const query = new URLSearchParams(typed.query).toString()
  if (label === undefined || query === '' || query.length > views.queryCharacters) return undefined
  return { label, path: typed.list, query }
}

export async function saveView(
  visit: Visit,
  visitor: UserSession,
  { values }: Submission<typeof views.saveView>,
) {
  const asked = readView(visit, values)
  if (!asked) throw new Invalid([{ field: 'list', problem: 'must be a list of which views are saved' }])
  const { path, query } = asked
  const { name } = values
  await save(visit.context.db, views.ownerOf(visit, visitor), { path, query, name })
  return leadToDone(visit, visitor, views.addressOf(asked), {
    text: `Saved as “${name}”.`,
    ...toAll,
    undo: { action: views.removeView.path, fields: { list: path, name } },
  })
}

const toAll = { link: { path: views.viewsPage, label: 'All saved views' } }

/** A second click finds it gone, and that is what was wanted. */
export async function removeView(
  visit: Visit,
  visitor: UserSession,
  { values: { list: path, name } }: Submission<typeof views.removeView>,
) {
  const query = await remove(visit.context.db, views.ownerOf(visit, visitor), { path, name })
  const isList = views.nameList(path, visit.context.environment) !== undefined
  const text = `“${name}” is removed.`
  const done: FlashMessage =
    query === undefined
      ? { text, ...toAll }
      : { text, ...toAll, undo: { action: views.saveView.path, fields: { list: path, query, name } } }
  return leadToDone(
    visit,
    visitor,
    isList ? views.addressOf({ path, query: query ?? '' }) : views.viewsPage,
    done,
  )
}

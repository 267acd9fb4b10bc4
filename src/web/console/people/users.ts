/** Everybody who can sign in: looked for by username, name, id or account number. */
import type { User } from '../../../users/user.ts'
import { findUsers } from '../../../users/user-search.ts'
import { text } from '../../frame/field.ts'
import { type Html, html } from '../../frame/html.ts'
import { badge, menu, printMoment, table } from '../../frame/parts.ts'
import { type Question, readQuestion } from '../../frame/question.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Operator } from '../../gates/gates.ts'
import { mayFollow, type Reader, sendConsole } from '../frame/console.ts'

const pageSize = 50
const longest = 100

const asked = {
  q: text({
    label: 'Username, name, id or account number',
    type: 'search',
    most: longest,
    more: html`spellcheck="false" autocapitalize="none" autocomplete="off"`,
  }),
  after: text({ label: 'After', most: longest }),
}

export async function showUsers(visit: Visit, operator: Operator) {
  const question = readQuestion(visit.query, asked)
  const { q, after } = question.values
  const found = await findUsers(visit.context.db, { text: q, after }, pageSize)
  return sendConsole(visit, operator, {
    title: 'Users',
    section: '/console/users',
    body: html`<h1>Users</h1>
<form class="card filter" method="get" action="/console/users" role="search" aria-label="Users">
${question.view.field('q')}
<div class="field">${question.view.button('Show', { look: 'primary' })}</div>
</form>
${operator.may('users.manage') && html`<p><a class="button" href="/console/users/new">New user</a></p>`}
${
  found.users.length === 0
    ? html`<p class="card empty">There are no such
  users.</p>`
    : printFound(found.users, operator)
}
${printPages(question, after, found.after)}`,
  })
}

function printFound(users: readonly User[], reader: Reader): Html {
  return table(
    'Users',
    ['Username', 'State', 'Name', 'Id', 'Since (UTC)', 'Actions'],
    users.map((each) => printRow(each, reader)),
  )
}

function printRow(user: User, reader: Reader): Html {
  return html`<tr><td><a href="/console/users/${user.id}">${user.username}</a></td><td>${statusBadge(user)}</td><td>${user.name} ${roleBadge(user)}</td>
<td><code>${user.id}</code></td><td>${printMoment(user.createdAt)}</td><td>${printMenu(user, reader)}</td></tr>`
}

function printMenu({ id, username }: User, reader: Reader): Html {
  const audit = mayFollow(reader, '/console/audit')
  return menu(username, [
    html`<a href="/console/users/${id}">Access, sessions, tokens</a>`,
    audit && html`<a href="/console/audit?subject=user:${id}">Audit entries about them</a>`,
    audit && html`<a href="/console/audit?actor=user:${id}">What they did</a>`,
  ])
}

/** A user whom the brokerage's own system keeps out was not locked by an operator. */
export const lockWords = {
  operator: 'locked',
  source: 'disabled by source',
  removal: 'removed by source',
} as const

export function statusBadge({ lockedBy }: Pick<User, 'lockedBy'>): Html {
  if (lockedBy === null) return badge('good', 'active')
  return badge(lockedBy === 'operator' ? 'bad' : 'off', lockWords[lockedBy])
}

export function roleBadge({ role }: User): Html | undefined {
  return role === 'operator' ? badge('wait', 'operator') : undefined
}

function printPages(
  question: Question<typeof asked>,
  here: string | undefined,
  next: string | undefined,
): Html {
  return html`<nav class="pages" aria-label="Pages">${
    here !== undefined &&
    html`<a
    href="/console/users?${question.print({ after: undefined })}">First page</a>`
  }
${
  next !== undefined &&
  html`<a href="/console/users?${question.print({ after: next })}" rel="next">Next
  page</a>`
}</nav>`
}

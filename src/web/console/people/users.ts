/** Everybody who can sign in: looked for by username, name, e-mail address, id or account number. */
import type { User } from '../../../users/user.ts'
import { findUsers } from '../../../users/user-search.ts'
import { any, oneOf, text } from '../../frame/field.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForFile, type List, moment, printList, sendListFile } from '../../frame/list.ts'
import { badge, menu } from '../../frame/parts.ts'
import { type Question, readQuestion } from '../../frame/question.ts'
import { printListBar } from '../../frame/saved-views.ts'
import type { Visit } from '../../frame/visit.ts'
import { type Operator, operatorWatcher } from '../../gates/gates.ts'
import { mayFollow, type Reader, sendConsole } from '../frame/console.ts'

const pageSize = 50
const longest = 100

/** As the address says who keeps them out. */
const locks = { locked: 'operator', disabled: 'source', removed: 'removal' } as const
const lockNames = Object.keys(locks) as (keyof typeof locks)[]

/** A user whom the brokerage's own system keeps out was not locked by an operator. */
export const lockWords = {
  operator: 'locked',
  source: 'disabled by source',
  removal: 'removed by source',
} as const

const asked = {
  q: text({
    label: 'Username, name, e-mail, id or account number',
    type: 'search',
    most: longest,
    more: html`spellcheck="false" autocapitalize="none" autocomplete="off"`,
  }),
  state: oneOf({
    label: 'State',
    of: lockNames,
    choices: [any, ...lockNames.map((value) => ({ value, label: lockWords[locks[value]] }))],
  }),
  after: text({ label: 'After', most: longest }),
}

export async function showUsers(visit: Visit, operator: Operator) {
  const question = readQuestion(visit.query, asked)
  const { after } = question.values
  const list = listOf(visit, question, operator)
  if (asksForFile(visit))
    return sendListFile(visit, operator, operatorWatcher(visit, operator), list, question)
  const { rows, next } = await list.read(after, pageSize)
  return sendConsole(visit, operator, {
    title: 'Users',
    section: '/console/users',
    status: question.status,
    body: html`<h1>Users</h1>
<form class="card filter" method="get" action="/console/users" role="search" aria-label="Users">
${question.view.field('q')}${question.view.field('state')}
<div class="field">${question.view.button('Show', { look: 'primary' })}</div>
</form>
${question.values.state && html`<p class="small">Of these, the search finds the beginning of a username.</p>`}
${operator.may('users.manage') && html`<p><a class="button" href="/console/users/new">New user</a></p>`}
${await printListBar(visit, operator, '/console/users', question)}
${printList(list, rows)}
${printPages(question, after, next)}`,
  })
}

function listOf({ context }: Visit, question: Question<typeof asked>, reader: Reader): List<User, string> {
  const { q, state } = question.values
  return {
    name: 'users',
    caption: 'Users',
    empty: 'There are no such users.',
    recordedAs: 'list:users',
    columns: [
      {
        name: 'Username',
        cell: ({ id, username }) => html`<a href="/console/users/${id}">${username}</a>`,
        text: ({ username }) => username,
      },
      { name: 'State', cell: statusBadge, text: ({ lockedBy }) => lockWordsOf(lockedBy) },
      { name: 'Name', cell: (user) => html`${user.name} ${roleBadge(user)}`, text: ({ name }) => name },
      { name: 'Role', text: ({ role }) => role },
      { name: 'Id', cell: ({ id }) => html`<code>${id}</code>`, text: ({ id }) => id },
      moment('Since (UTC)', ({ createdAt }) => createdAt),
      { name: 'Actions', cell: (user) => printMenu(user, reader) },
    ],
    async read(after, most) {
      const { users, after: next } = await findUsers(
        context.db,
        { text: q, lockedBy: state && locks[state], after },
        most,
      )
      return { rows: users, next }
    },
  }
}

function printMenu({ id, username }: User, reader: Reader): Html {
  const audit = mayFollow(reader, '/console/audit')
  return menu(username, [
    html`<a href="/console/users/${id}">Access, sessions, tokens</a>`,
    audit && html`<a href="/console/audit?subject=user:${id}">Audit entries about them</a>`,
    audit && html`<a href="/console/audit?actor=user:${id}">What they did</a>`,
  ])
}

function lockWordsOf(lockedBy: User['lockedBy']): string {
  return lockedBy === null ? 'active' : lockWords[lockedBy]
}

export function statusBadge({ lockedBy }: Pick<User, 'lockedBy'>): Html {
  const tone = lockedBy === null ? 'good' : lockedBy === 'operator' ? 'bad' : 'off'
  return badge(tone, lockWordsOf(lockedBy))
}

const roleWords = { operator: 'operator', member: 'no customer', test: 'test holder' } as const

export function roleBadge({ role }: User): Html | undefined {
  return role === 'holder' ? undefined : badge(role === 'operator' ? 'wait' : 'off', roleWords[role])
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

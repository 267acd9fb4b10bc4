/** Credentials of programs that administer: who has which, a new one, shown once, and the end of one. */
import type { Sql } from '../../../database/database.ts'
import { Invalid, NotFound } from '../../../problem.ts'
import {
  type AdminCredential,
  createCredential as create,
  credentialDays,
  listCredentials,
  revokeCredential as revoke,
} from '../../../users/admin-credential.ts'
import { carries } from '../../../users/staff-role.ts'
import { getUserNamed } from '../../../users/user.ts'
import { type StaffRole, staffRoles } from '../../../vocabulary/permission.ts'
import { staffRoleWords } from '../../../vocabulary/staff-role-words.ts'
import { copySecret } from '../../frame/copy.ts'
import { ignoreAlreadyGone, leadToDone, printDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForFile, type List, moment, plain, printList, sendListFile, whole } from '../../frame/list.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { printDate } from '../../frame/page.ts'
import { badge } from '../../frame/parts.ts'
import { printFileLink } from '../../frame/saved-views.ts'
import type { Visit } from '../../frame/visit.ts'
import { type Operator, operatorWatcher, type ReasonedOperator } from '../../gates/gates.ts'
import { sendConsole } from '../frame/console.ts'
import { findNames, type Names, printName } from '../frame/names.ts'
import * as forms from './forms.ts'

const here = '/console/credentials'

const doneWords = {
  before:
    'This form was sent before. The credential that it made is listed below and was shown once. If it was not copied, revoke it and make another.',
}

export async function showCredentials(visit: Visit, operator: Operator) {
  if (!asksForFile(visit)) return sendCredentials(visit, operator, { done: printDone(visit, doneWords) })
  return sendListFile(
    visit,
    operator,
    operatorWatcher(visit, operator),
    (await readList(visit, operator)).list,
  )
}

type Listed = Awaited<ReturnType<typeof listCredentials>>[number]

async function readList({ context }: Visit, operator: Operator) {
  const { db, clock } = context
  const credentials = await listCredentials(db)
  const people = credentials.flatMap(({ userId, readers }) => [userId, ...readers].map((id) => `user:${id}`))
  const names = await findNames(db, [...new Set(people)], operator)
  return { credentials, list: listOf(credentials, names, operator, clock.now()) }
}

function listOf(credentials: readonly Listed[], names: Names, operator: Operator, now: Date): List<Listed> {
  const name = (id: string) => printName(`user:${id}`, names)
  const nameOf = (id: string) => names.get(`user:${id}`)?.name ?? id
  return {
    name: 'credentials',
    caption: 'Credentials',
    empty: 'There are no credentials.',
    recordedAs: 'list:credentials',
    ...whole(credentials),
    columns: [
      {
        name: 'Name',
        cell: (each) =>
          html`${each.name}<br><span class="faint">${each.id}, ends in <code>${each.hint}</code></span>`,
        text: (each) => each.name,
      },
      { name: 'Number', text: ({ id }) => id },
      {
        name: 'State',
        cell: (each) => stateBadge(stateOf(each, now)),
        text: (each) => stateOf(each, now),
      },
      plain('Role', ({ role }) => staffRoleWords[role].title),
      plain('Site', ({ environment }) => environment),
      { name: 'Acts for', cell: ({ userId }) => name(userId), text: ({ userId }) => nameOf(userId) },
      {
        name: 'Readers',
        cell: ({ readers }) => (readers.length === 0 ? '–' : readers.map((id) => html`${name(id)}<br>`)),
        text: ({ readers }) => readers.map(nameOf).join('; '),
      },
      moment('Made (UTC)', ({ createdAt }) => createdAt),
      moment('Ends (UTC)', ({ expiresAt }) => expiresAt),
      moment('Last used (UTC)', ({ lastUsedAt }) => lastUsedAt),
      { name: 'Actions', cell: (each) => printRevoke(each, operator, now) },
    ],
  }
}

type State = 'active' | 'revoked' | 'ended'

function stateOf({ revokedAt, expiresAt }: AdminCredential, now: Date): State {
  if (revokedAt !== null) return 'revoked'
  return expiresAt <= now ? 'ended' : 'active'
}

function stateBadge(state: State): Html {
  return badge(state === 'active' ? 'good' : 'off', state)
}

function printRevoke(credential: Listed, operator: Operator, now: Date) {
  if (stateOf(credential, now) !== 'active' || !operator.may('staff.manage')) return '–'
  return operator.forms.ask(forms.revokeCredential, {
    ...{ standing: { credential: credential.id }, label: 'Revoke', of: credential.name },
    text: 'Programs that use it are refused from their next request on.',
  })
}

interface CredentialsPage {
  readonly done?: Html | undefined
  readonly created?: { readonly credential: AdminCredential; readonly text: string }
}

async function sendCredentials(visit: Visit, operator: Operator, { done, created }: CredentialsPage) {
  const { credentials, list } = await readList(visit, operator)
  return sendConsole(visit, operator, {
    title: 'Credentials',
    section: here,
    scripts: ['copy.js'],
    body: html`<h1>Credentials</h1>
<p>For programs that administer the gateway. A credential may do what its role may, while the person it acts for
  may do all of that. It proposes, and never decides.</p>
${done}${created && printCreated(created)}
${credentials.length > 0 && printFileLink(here)}
${printList(list, credentials)}
${operator.may('staff.manage') && printForm(operator)}`,
  })
}

function printCreated({ credential, text }: NonNullable<CredentialsPage['created']>): Html {
  return html`<section class="card created" role="status"><h2>Credential ${credential.id} made</h2>
<p>Copy it now. It is not shown again.</p>
${copySecret('the credential', text)}
<p>It has the role ${staffRoleWords[credential.role].title} and ends ${printDate(credential.expiresAt)}.</p></section>`
}

/** Nobody makes one that may do more than they may themselves. */
function listGivable({ roles }: Operator): StaffRole[] {
  return staffRoles.filter((role) => carries(roles, role))
}

function printForm(operator: Operator): Html {
  const choices = listGivable(operator).map((value) => ({
    value,
    label: `${staffRoleWords[value].title}: ${staffRoleWords[value].text}`,
  }))
  const standing = { person: operator.session.user.username, days: credentialDays.usual }
  return html`<section class="card"><h2>New credential</h2>${operator.forms.print(
    forms.createCredential,
    { standing },
    (view) => html`${view.field('name')}${view.field('person')}${view.field('role', { choices })}
${view.field('environment')}${view.field('readers')}${view.field('days')}${view.field('reason')}
${view.button('Make credential', { look: 'primary' })}`,
  )}</section>`
}

export async function createCredential(
  visit: Visit,
  operator: ReasonedOperator,
  form: Submission<typeof forms.createCredential>,
) {
  const { context, reply } = visit
  const { name, person, role, environment, readers, days = credentialDays.usual } = form.values
  const words = readers.split(/\s+/).filter((word) => word !== '')
  const make = async (db: Sql) => {
    const userId = await findPerson(db, 'person', person)
    const others: string[] = []
    for (const word of words) others.push(await findPerson(db, 'readers', word))
    return create(db, { userId, name, environment, role, readers: others, days }, operator.act)
  }
  const sent = await makeOnce(context, operator, form, make, () => `${here}?done=before`)
  if (sent.kind === 'before') return reply.redirect(sent.path, 303)
  const { credential, secret } = sent.made
  return sendCredentials(visit, operator, { created: { credential, text: secret.text } })
}

/** Of the staff, as they sign in; told by its field where there is nobody. */
async function findPerson(db: Sql, field: 'person' | 'readers', word: string): Promise<string> {
  const found = await getUserNamed(db, word.trim()).catch((error: unknown) => {
    if (error instanceof NotFound) return undefined
    throw error
  })
  if (found?.role !== 'operator')
    throw new Invalid([{ field, problem: `must be of the staff: nobody of them is called "${word.trim()}"` }])
  return found.id
}

export async function revokeCredential(
  visit: Visit,
  operator: ReasonedOperator,
  { values: { credential } }: Submission<typeof forms.revokeCredential>,
) {
  await revoke(visit.context.db, credential, operator.act).catch(ignoreAlreadyGone)
  return leadToDone(visit, operator, here, {
    text: `Credential ${credential} is revoked.`,
    link: { path: here, label: 'All credentials' },
  })
}

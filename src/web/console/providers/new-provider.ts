/**
 * A new identity provider: written down with its credential sealed, to be tested on its page and enabled
 * there.
 */

import type { Sql } from '../../../database/database.ts'
import { draftProvider, type ProviderFacts } from '../../../identity/provider.ts'
import { logoutReaches, type ProviderDraft, providerKinds } from '../../../identity/provider-draft.ts'
import { Invalid } from '../../../problem.ts'
import { isDevelopment } from '../../../settings/config.ts'
import type { StaffRole } from '../../../vocabulary/permission.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import type { FormView } from '../../frame/form-view.ts'
import { type Html, html } from '../../frame/html.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { crumbs } from '../../frame/parts.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Operator, StrongOperator } from '../../gates/gates.ts'
import { sendConsole } from '../frame/console.ts'
import * as forms from './forms.ts'
import { printCredential, readCredential, wordForForm } from './provider-credential.ts'

const here = '/console/providers'

type NewProvider = Submission<typeof forms.createProvider>

export async function createProvider(visit: Visit, operator: StrongOperator, form: NewProvider) {
  const { context } = visit
  const { vault, config } = context
  const draft = readDraft(form.values)
  const development = { allowLoopback: isDevelopment(config) }
  const make = (db: Sql) => draftProvider(db, vault, draft, development, operator.act)
  const { path } = await makeOnce(context, operator, form, make, ({ name }) => `${here}/${name}`).catch(
    wordForForm,
  )
  const text = 'The identity provider is saved. Test it, then enable it.'
  return leadToDone(visit, operator, path, { text, link: { path: here, label: 'Identity providers' } })
}

function readDraft(values: NewProvider['values']): ProviderDraft {
  const kind = providerKinds.find((each) => each === values.kind)
  if (!kind) throw new Invalid([{ field: 'kind', problem: 'must be one of the list' }])
  const [name, issuer] = [values.name.trim(), values.issuer.trim()]
  return { name, kind, issuer, ...readCredential(values), ...readChange(values) }
}

/** What may be changed later, too. */
type Change = Readonly<Record<forms.ChangeName, string>>

export function readChange(values: Change) {
  return {
    ...{ label: values.label.trim(), clientId: values['client-id'].trim() },
    scopes: [...new Set(['openid', ...wordsOf(values.scopes)])],
    linkClaim: values['link-claim'].trim() || null,
    linkSource: values['link-source'].trim() || 'core',
    strongAcr: wordsOf(values['strong-acr']),
    strongAmr: wordsOf(values['strong-amr']),
    ownSecondStep: values['own-step'] !== 'no',
    rolesClaim: values['roles-claim'].trim() || null,
    roleMap: readRoles(values.role),
    logoutEnds: logoutReaches.find((each) => each === values['logout-ends']) ?? 'session',
  } as const
}

/** As the form has what a provider is set up by. */
export function printChange(facts: ProviderFacts): Change {
  return {
    ...{ label: facts.label, 'client-id': facts.clientId },
    scopes: facts.scopes.filter((each) => each !== 'openid').join(' '),
    ...{ 'link-claim': facts.linkClaim ?? '', 'link-source': facts.linkSource },
    ...{ 'strong-acr': facts.strongAcr.join(' '), 'strong-amr': facts.strongAmr.join(' ') },
    ...{ 'own-step': facts.ownSecondStep ? 'yes' : 'no', 'roles-claim': facts.rolesClaim ?? '' },
    role: Object.entries(facts.roleMap)
      .sort()
      .map(([value, role]) => `${value}=${role}`)
      .join('\n'),
    'logout-ends': facts.logoutEnds,
  }
}

const wordsOf = (text: string) => text.split(/\s+/).filter((word) => word !== '')

/**
 * A line each, such as `gateway-admins=administrator`. What is no role is judged with every other fault of
 * the draft.
 */
function readRoles(text: string): Record<string, StaffRole> {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const pairs = lines.map((line) => line.split(/=(?=[^=]*$)/).map((each) => each.trim()))
  return Object.fromEntries(pairs.map(([value = '', role = '']) => [value, role])) as Record<
    string,
    StaffRole
  >
}

export async function showNewProvider(visit: Visit, operator: Operator) {
  return sendConsole(visit, operator, {
    title: 'New identity provider',
    section: here,
    body: html`${crumbs([{ path: here, label: 'Identity providers' }])}
<h1>New identity provider</h1>
<p>OpenID Connect. It is saved without being enabled: its page tests it and lists the addresses to register
  there.</p>
${operator.forms.print(
  forms.createProvider,
  { look: 'card' },
  (view) => html`${view.field('label')}${view.field('name')}${view.field('kind')}${view.field('issuer')}
${view.field('client-id')}${printCredential(view)}${view.field('scopes')}${printPeople(view)}${printStrength(view)}
${view.button('Save', { look: 'primary' })}`,
)}`,
  })
}

type ChangeView = Pick<FormView<Pick<(typeof forms.changeProvider)['fields'], forms.ChangeName>>, 'field'>

/** The fields of what may be changed later. */
export function printChangeFields(view: ChangeView): Html {
  return html`${view.field('label')}${view.field('client-id')}${view.field('scopes')}${printPeople(view)}${printStrength(view)}`
}

function printPeople(view: ChangeView): Html {
  return html`${view.field('link-claim')}${view.field('link-source')}${view.field('roles-claim')}${view.field('role')}`
}

function printStrength(view: ChangeView): Html {
  return html`${view.field('strong-acr')}${view.field('strong-amr')}${view.field('own-step')}${view.field('logout-ends')}`
}

/**
 * A new identity provider: written down with its credential sealed, to be tested on its page and enabled
 * there.
 */

import type { Sql } from '../../../database/database.ts'
import { draftProvider, type ProviderFacts } from '../../../identity/provider.ts'
import {
  findDraftProblems,
  logoutReaches,
  type ProviderDraft,
  providerKinds,
} from '../../../identity/provider-draft.ts'
import { testDraft } from '../../../identity/provider-test.ts'
import { Invalid } from '../../../problem.ts'
import { isDevelopment } from '../../../settings/config.ts'
import type { StaffRole } from '../../../vocabulary/permission.ts'
import { choice, oneOf } from '../../frame/field.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import type { FormView } from '../../frame/form-view.ts'
import { type Html, html } from '../../frame/html.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { crumbs } from '../../frame/parts.ts'
import { readQuestion } from '../../frame/question.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Operator, StrongOperator } from '../../gates/gates.ts'
import { sendConsole } from '../frame/console.ts'
import * as forms from './forms.ts'
import { presets, printPreset } from './presets.ts'
import { readCredential, wordForForm } from './provider-credential.ts'

const here = '/console/providers'

type NewProvider = Submission<typeof forms.createProvider>

export async function createProvider(visit: Visit, operator: StrongOperator, form: NewProvider) {
  const { context } = visit
  const { vault, config } = context
  const draft = readDraft(form.values)
  const development = { allowLoopback: isDevelopment(config) }
  const problems = await findDraftProblems(draft, development.allowLoopback)
  if (problems.length === 0 && !form.values.untested) await refuseUnfit(visit, draft)
  const make = (db: Sql) => draftProvider(db, vault, draft, development, operator.act)
  const { path } = await makeOnce(context, operator, form, make, ({ name }) => `${here}/${name}`).catch(
    wordForForm,
  )
  const text = form.values.untested
    ? 'The identity provider is saved. Test it, then enable it.'
    : 'The identity provider answers as it should, and is saved. Register its addresses there, then enable it.'
  return leadToDone(visit, operator, path, { text, link: { path: here, label: 'Identity providers' } })
}

/** Which field a failed check is about. */
const fieldOf: ReadonlyMap<string, string> = new Map(
  Object.entries({ Client: 'client-id', 'Second factor': 'strong-acr' }),
)

/** It is asked before it is saved: what a sign-in would fail by stands beside its field. */
async function refuseUnfit(visit: Visit, draft: ProviderDraft): Promise<void> {
  const { upstreams, clock } = visit.context
  const wrong = (await testDraft(upstreams, clock, draft)).filter(({ state }) => state === 'wrong')
  if (wrong.length === 0) return
  const problems = wrong.map(({ check, told }) => ({ field: fieldOf.get(check) ?? 'issuer', problem: told }))
  throw new Invalid([...problems, { field: 'untested', problem: 'It failed. Tick this to save it anyway.' }])
}

function readDraft(values: NewProvider['values']): ProviderDraft {
  const kind = providerKinds.find((each) => each === values.kind)
  if (!kind) throw new Invalid([{ field: 'kind', problem: 'must be one of the list' }])
  const issuer = values.issuer.trim()
  const host = URL.canParse(issuer) ? new URL(issuer).hostname : ''
  const change = readChange(values)
  const label = change.label || host || issuer
  const name = values.name.trim() || nameOf(label)
  return { ...change, ...readCredential(values), name, label, kind, issuer }
}

/** As it may stand in an address. */
function nameOf(label: string): string {
  const words = label.toLowerCase().split(/[^a-z0-9]+/)
  return words
    .filter((word) => word !== '')
    .join('-')
    .slice(0, 40)
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

const asked = {
  preset: choice({ label: 'Provider' }),
  kind: oneOf({ label: 'For', of: providerKinds }),
}

export async function showNewProvider(visit: Visit, operator: Operator) {
  const { preset: name = '', kind = 'staff' } = readQuestion(visit.query, asked).values
  const preset = presets.get(name)
  return sendConsole(visit, operator, {
    title: 'New identity provider',
    section: here,
    body: html`${crumbs([{ path: here, label: 'Identity providers' }])}
<h1>New identity provider</h1>
<p>OpenID Connect. It is tested and saved, and nobody signs in there before you enable it.</p>
${printPresets(name, kind)}
${preset && html`<p>${preset.advice} Write your own values in place of the capitals.</p>`}
${operator.forms.print(
  forms.createProvider,
  { look: 'card', standing: preset ? { kind, ...printPreset(preset, kind) } : { kind } },
  (view) => {
    const main = html`${view.field('issuer')}${view.field('client-id')}${view.field('secret')}`
    const more = html`${view.field('kind')}${view.field('label')}${view.field('name')}${view.field('proof')}
${view.field('secret-key')}${view.field('scopes')}${printPeople(view)}${printStrength(view)}`
    const isOpen = view.fieldNames.some((each) => !first.has(each) && view.problemOf(each) !== undefined)
    return html`${main}<details${isOpen && html` open`}><summary>More settings</summary>${more}</details>
${view.field('untested')}${view.problem('untested', 'Test')}
${view.button('Test and save', { look: 'primary' })}`
  },
)}`,
  })
}

/** What is asked at first. */
const first: ReadonlySet<string> = new Set(['issuer', 'client-id', 'secret', 'untested'])

const kindWords = { staff: 'For staff: this console', holder: 'For holders: your customers' } as const

function printPresets(chosen: string, kind: keyof typeof kindWords): Html {
  const link = (of: keyof typeof kindWords, name: string, label: string) =>
    html`<a href="${here}/new?kind=${of}&amp;preset=${name}"${
      of === kind && name === chosen && html` aria-current="true"`
    }>${label}</a>`
  const rows = (['staff', 'holder'] as const).map((of) => {
    const links = [...presets].map(([name, { label }]) => html`${link(of, name, label)} · `)
    return html`<dt>${kindWords[of]}</dt><dd>${links}${link(of, '', 'Another')}</dd>`
  })
  return html`<dl class="facts">${rows}</dl>`
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

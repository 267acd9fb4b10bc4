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
import { fieldLengths } from '../../frame/field-lengths.ts'
import {
  choiceField,
  type Draft,
  emptyDraft,
  findProblem,
  formNotice,
  longField,
  textField,
} from '../../frame/fields.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { SubmittedForm } from '../../frame/forms.ts'
import { type Html, html } from '../../frame/html.ts'
import { csrfField } from '../../frame/page.ts'
import { crumbs } from '../../frame/parts.ts'
import { makeOnce, onceField } from '../../frame/submission.ts'
import type { Visit } from '../../frame/visit.ts'
import type { Operator, StrongOperator } from '../../gates/gates.ts'
import { sendConsole } from '../frame/console.ts'
import {
  credentialNames,
  printCredential,
  readCredential,
  refusedDraft,
  valuesOf,
} from './provider-credential.ts'

const here = '/console/providers'

const names = [
  ...(['name', 'label', 'kind', 'issuer', 'client-id', ...credentialNames, 'scopes'] as const),
  ...([
    'link-claim',
    'link-source',
    'strong-acr',
    'strong-amr',
    'own-step',
    'roles-claim',
    'role',
    'logout-ends',
  ] as const),
]
type Values = Readonly<Record<(typeof names)[number], string>>

export async function showNewProvider(visit: Visit, operator: Operator) {
  return send(visit, operator, emptyDraft)
}

export async function createProvider(visit: Visit, operator: StrongOperator, form: SubmittedForm) {
  const { context } = visit
  const { vault, config } = context
  const values = valuesOf(form, names)
  let path = here
  const problem = await findProblem(async () => {
    const draft = readDraft(values)
    const development = { allowLoopback: isDevelopment(config) }
    const make = (db: Sql) => draftProvider(db, vault, draft, development, operator.act)
    const sent = await makeOnce(context, operator, form, make, ({ name }) => `${here}/${name}`)
    path = sent.path
  })
  if (problem) return send(visit, operator, refusedDraft(values, problem))
  const text = 'The identity provider is saved. Test it, then enable it.'
  return leadToDone(visit, operator, path, { text, link: { path: here, label: 'Identity providers' } })
}

function readDraft(values: Values): ProviderDraft {
  const kind = providerKinds.find((each) => each === values.kind)
  if (!kind) throw new Invalid([{ field: 'kind', problem: 'must be one of the list' }])
  return { name: values.name, kind, issuer: values.issuer, ...readCredential(values), ...readChange(values) }
}

/** What may be changed later, too. */
export const changeNames = [
  ...(['label', 'client-id', 'scopes', 'link-claim', 'link-source', 'strong-acr', 'strong-amr'] as const),
  ...(['own-step', 'roles-claim', 'role', 'logout-ends'] as const),
]

export function readChange(values: Readonly<Record<(typeof changeNames)[number], string>>) {
  return {
    ...{ label: values.label, clientId: values['client-id'] },
    scopes: [...new Set(['openid', ...wordsOf(values.scopes)])],
    linkClaim: values['link-claim'] || null,
    linkSource: values['link-source'] || 'core',
    strongAcr: wordsOf(values['strong-acr']),
    strongAmr: wordsOf(values['strong-amr']),
    ownSecondStep: values['own-step'] !== 'no',
    rolesClaim: values['roles-claim'] || null,
    roleMap: readRoles(values.role),
    logoutEnds: logoutReaches.find((each) => each === values['logout-ends']) ?? 'session',
  } as const
}

/** As the form has what a provider is set up by. */
export function printChange(facts: ProviderFacts): Record<(typeof changeNames)[number], string> {
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

const lengths = fieldLengths['/console/providers/new/create']

const plain = html`autocomplete="off" autocapitalize="none" spellcheck="false"`
const needed = html`required ${plain}`

function send(visit: Visit, operator: Operator, draft: Draft) {
  return sendConsole(visit, operator, {
    title: 'New identity provider',
    section: here,
    ...(draft.problem && { status: draft.problem.status }),
    body: html`${crumbs([{ path: here, label: 'Identity providers' }])}
<h1>New identity provider</h1>
<p>OpenID Connect. It is saved without being enabled: its page tests it and lists the addresses to register
  there.</p>
${formNotice(draft, ...names)}
<form class="card" method="post" action="${here}/new/create">${csrfField(operator.csrf)}${onceField()}
${printWho(draft)}${printClient(draft)}${printPeople(draft)}${printStrength(draft)}
<button class="primary">Save</button></form>`,
  })
}

function printWho(draft: Draft): Html {
  const kinds = [
    { value: 'holder', label: 'holders: your customers' },
    { value: 'staff', label: 'staff: this console' },
  ]
  return html`${printLabel(draft)}
${textField(draft, {
  name: 'name',
  label: 'Short name',
  more: html`${needed}
  maxlength="${lengths.name}"`,
  hint: 'In addresses: small letters, digits and hyphens, such as bank.',
})}
${choiceField(draft, { name: 'kind', label: 'For' }, kinds)}
${textField(draft, {
  name: 'issuer',
  label: 'Issuer',
  more: html`${needed}
  maxlength="${lengths.issuer}"`,
  hint: 'As the provider writes it itself, such as https://login.example.com',
})}`
}

function printLabel(draft: Draft): Html {
  return html`${textField(draft, {
    name: 'label',
    label: 'Name',
    more: html`required
    maxlength="${lengths.label}"
    autocomplete="off"`,
    hint: 'What people know it by, such as Example Bank ID.',
  })}`
}

function printClientId(draft: Draft): Html {
  return html`${textField(draft, {
    name: 'client-id',
    label: 'Client id',
    more: html`${needed}
    maxlength="${lengths['client-id']}"`,
    hint: 'What the provider calls this gateway.',
  })}`
}

function printScopes(draft: Draft): Html {
  return html`${textField(draft, {
    name: 'scopes',
    label: 'Scopes',
    more: html`${plain}
    maxlength="${lengths.scopes}"`,
    hint: 'Asked for beside openid, with spaces between. Optional.',
  })}`
}

function printClient(draft: Draft): Html {
  return html`${printClientId(draft)}${printCredential(draft)}${printScopes(draft)}`
}

/** The fields of what may be changed later. */
export function printChangeFields(draft: Draft): Html {
  return html`${printLabel(draft)}${printClientId(draft)}${printScopes(draft)}${printPeople(draft)}${printStrength(draft)}`
}

function printPeople(draft: Draft): Html {
  return html`${textField(draft, { name: 'link-claim', label: 'Holders: claim that equals the external id', more: html`${plain} maxlength="${lengths['link-claim']}"`, hint: 'Such as customer_id. Without one only people who are linked by hand get in.' })}
${textField(draft, {
  name: 'link-source',
  label: 'Holders: source of that id',
  more: html`${plain}
  maxlength="${lengths['link-source']}"`,
  hint: 'core unless given.',
})}
${textField(draft, {
  name: 'roles-claim',
  label: 'Staff: claim with groups or app roles',
  more: html`${plain}
  maxlength="${lengths['roles-claim']}"`,
  hint: 'Such as roles. Without one roles are given by hand.',
})}
${longField(draft, {
  name: 'role',
  label: 'Staff: which group has which role',
  more: html`${plain}
  maxlength="${lengths.role}"`,
  hint: 'A line each: gateway-admins=administrator',
})}`
}

function printStrength(draft: Draft): Html {
  const steps = [
    { value: 'yes', label: 'a second step here stands in' },
    { value: 'no', label: 'nothing stands in' },
  ]
  const reaches = [
    { value: 'session', label: 'the session that it names' },
    { value: 'person', label: 'all sessions of that person' },
  ]
  return html`${textField(draft, {
    name: 'strong-acr',
    label: 'Step-up: acr values',
    more: html`${plain}
    maxlength="${lengths['strong-acr']}"`,
    hint: 'That mean a second factor was given, with spaces between.',
  })}
${textField(draft, {
  name: 'strong-amr',
  label: 'Step-up: amr values',
  more: html`${plain}
  maxlength="${lengths['strong-amr']}"`,
  hint: 'That mean the same, such as mfa.',
})}
${choiceField(draft, { name: 'own-step', label: 'Where the provider does not say' }, steps)}
${choiceField(draft, { name: 'logout-ends', label: 'A logout token from there ends', hint: 'Keycloak’s “log out all” needs all sessions of that person.' }, reaches)}`
}

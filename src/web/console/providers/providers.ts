/**
 * The identity providers at which holders and staff sign in: what they are, whether they answer, a test that
 * says what is wrong, a new credential, and their end.
 */
import { findBeyond } from '../../../identity/handed-out.ts'
import {
  factsOf,
  getProvider,
  listEveryProvider,
  type Provider,
  removeProvider,
  replaceCredential,
} from '../../../identity/provider.ts'
import { changed, changeProvider } from '../../../identity/provider-change.ts'
import { type ProviderFinding, testProvider } from '../../../identity/provider-test.ts'
import { findTouched, tellTouched } from '../../../identity/removal.ts'
import { staffRoleWords } from '../../../vocabulary/staff-role-words.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForFile, type List, plain, printList, sendListFile, whole } from '../../frame/list.ts'
import { printDate } from '../../frame/page.ts'
import { badge, crumbs, type Tone, table } from '../../frame/parts.ts'
import { printFileLink } from '../../frame/saved-views.ts'
import { paramsOf, type Visit } from '../../frame/visit.ts'
import { type Operator, operatorWatcher, type StrongOperator } from '../../gates/gates.ts'
import { sendConsole } from '../frame/console.ts'
import { actOrPropose, type Offers, printOffer, readOffers } from '../frame/four-eyes.ts'
import * as forms from './forms.ts'
import { printChange, printChangeFields, readChange } from './new-provider.ts'
import { printCredential, readCredential, wordForForm } from './provider-credential.ts'

const here = '/console/providers'

const kindWords = { holder: 'holders', staff: 'staff' }

export async function showProviders(visit: Visit, operator: Operator) {
  const providers = await listEveryProvider(visit.context.db)
  const list = listOf(providers)
  if (asksForFile(visit)) return sendListFile(visit, operator, operatorWatcher(visit, operator), list)
  return sendConsole(visit, operator, {
    title: 'Identity providers',
    section: here,
    body: html`<h1>Identity providers</h1>
<p><a class="button" href="${here}/new">New identity provider</a></p>
${providers.length > 0 && printFileLink(here)}
${printList(list, providers)}`,
  })
}

function listOf(providers: readonly Provider[]): List<Provider> {
  return {
    name: 'providers',
    caption: 'Identity providers',
    empty: 'There are none: everybody signs in with a password.',
    columns: [
      {
        name: 'Name',
        cell: ({ name, label }) => html`<a href="${here}/${name}">${label}</a>`,
        text: ({ label }) => label,
      },
      { name: 'In addresses', text: ({ name }) => name },
      plain('For', ({ kind }) => kindWords[kind]),
      { name: 'Issuer', look: 'url', cell: ({ issuer }) => issuer, text: ({ issuer }) => issuer },
      { name: 'State', cell: printState, text: (each) => stateOf(each) },
      { name: 'Away since (UTC)', text: ({ awaySince }) => awaySince },
      { name: 'Answered last (UTC)', text: ({ answeredAt }) => answeredAt },
    ],
    ...whole(providers),
  }
}

type State = 'not enabled' | 'away' | 'not asked yet' | 'answers'

function stateOf({ enabledAt, awaySince, lookedAt }: Provider): State {
  if (enabledAt === null) return 'not enabled'
  if (awaySince !== null) return 'away'
  return lookedAt === null ? 'not asked yet' : 'answers'
}

const stateTones: Readonly<Record<State, Tone>> = {
  'not enabled': 'wait',
  away: 'bad',
  'not asked yet': 'off',
  answers: 'good',
}

function printState(provider: Provider): Html {
  const state = stateOf(provider)
  const { awaySince } = provider
  const since = state === 'away' && awaySince !== null && html` since ${printDate(awaySince)}`
  return html`${badge(stateTones[state], state)}${since}`
}

const providerOf = ({ context, request }: Visit) => getProvider(context.db, paramsOf(request).provider ?? '')

export async function showProvider(visit: Visit, operator: Operator) {
  return sendProvider(visit, operator, await providerOf(visit))
}

/** Asks it what a sign-in would. No user signs in. */
export async function testNow(visit: Visit, operator: Operator) {
  const provider = await providerOf(visit)
  const findings = await testProvider(visit.context.upstreams, visit.context.clock, provider)
  return sendProvider(visit, operator, await providerOf(visit), findings)
}

async function sendProvider(
  visit: Visit,
  operator: Operator,
  provider: Provider,
  findings?: readonly ProviderFinding[],
) {
  const { name, label } = provider
  const offers = await readOffers(visit)
  return sendConsole(visit, operator, {
    title: label,
    section: here,
    body: html`${crumbs([{ path: here, label: 'Identity providers' }])}
<h1>${label}</h1>
${provider.enabledAt === null && printEnable(provider, operator, offers)}
<section class="card"><h2>Test</h2>
<p>Asks the provider what a sign-in would ask it. Nobody signs in.</p>
${findings && printFindings(findings)}
<p><a class="button primary"
  href="${here}/${name}/test">${findings ? 'Test again' : 'Test now'}</a></p></section>
${printFacts(provider)}
${printAddresses(visit, provider)}
${printChangeForm(provider, operator, offers)}
${printNewCredential(provider, operator)}
<section class="card"><h2>Remove</h2>${operator.forms.ask(forms.removeProvider, {
      ...{ label: 'Remove', of: label },
      text: tellTouched(provider, await findTouched(visit.context.db, provider)),
    })}</section>`,
  })
}

/** Enabled, it is where people sign in: with the next click, on every node. */
function printEnable(provider: Provider, operator: Operator, offers: Offers): Html {
  const { name, kind } = provider
  const beyond = findBeyond(operator.roles, provider)
  const offer = { kind: 'provider.add', subject: `provider:${name}`, label: 'Enable' } as const
  return html`<section class="card"><h2>Enable</h2>
<p>${badge('wait', 'not enabled')} Nobody can sign in there yet. Register the addresses below at the provider
  and test it; enabled, ${kindWords[kind]} sign in there at once.</p>
${beyond === undefined ? printOffer(offers, operator, forms.enableProvider, { ...offer, buttonLook: 'primary' }) : html`<p>${beyond}</p>`}</section>`
}

export async function enable(
  visit: Visit,
  operator: StrongOperator,
  { values: { reason } }: Submission<typeof forms.enableProvider>,
) {
  const provider = await providerOf(visit)
  const { name, label } = provider
  const values = { providerId: provider.id, ...factsOf(provider) }
  return actOrPropose(visit, operator, { kind: 'provider.add', values, reason }, (isDone) => {
    const text = isDone ? `${label} is enabled.` : `Nothing was changed: ${label} is enabled already.`
    return leadToDone(visit, operator, `${here}/${name}`, {
      text,
      link: { path: here, label: 'Identity providers' },
    })
  })
}

/** The issuer is who it is: another one is another provider. */
function printChangeForm(provider: Provider, operator: Operator, offers: Offers): Html {
  const { name, enabledAt } = provider
  const beyond = findBeyond(operator.roles, provider)
  if (beyond !== undefined) return html`<section class="card"><h2>Change</h2><p>${beyond}</p></section>`
  const standing = printChange(provider)
  const label = 'Save changes'
  const offer = { kind: 'provider.add', subject: `provider:${name}`, label, standing } as const
  const form =
    enabledAt === null
      ? operator.forms.print(
          forms.changeProvider,
          { standing },
          (view) => html`${printChangeFields(view)}${view.button(label)}`,
        )
      : printOffer(offers, operator, forms.changeProvider, { ...offer, more: printChangeFields })
  return html`<section class="card"><h2>Change</h2>
<p>Nobody is signed out, and everybody stays linked. Roles that are mapped no more are taken at once;
  everything else counts from the next sign-in on.</p>
${form}</section>`
}

type Change = Submission<typeof forms.changeProvider>

export function change(visit: Visit, operator: StrongOperator, form: Change) {
  return saveChange(visit, operator, form).catch(wordForForm)
}

async function saveChange(visit: Visit, operator: StrongOperator, { values: { reason, ...typed } }: Change) {
  const provider = await providerOf(visit)
  // A field that was not sent says nothing.
  const sent = Object.entries(typed).filter(([name]) => Object.hasOwn(visit.sent?.values ?? {}, name))
  const after = changed(provider, readChange({ ...printChange(provider), ...Object.fromEntries(sent) }))
  const tell = (isDone: boolean) => {
    const text = isDone
      ? `${provider.label} is changed. Test it.`
      : 'Nothing was changed: it is set up that way already.'
    const page = `${here}/${provider.name}`
    return leadToDone(visit, operator, page, { text, link: { path: `${page}/test`, label: 'Test now' } })
  }
  if (provider.enabledAt === null)
    return tell(await changeProvider(visit.context.db, provider.id, after, operator.act))
  const values = { providerId: provider.id, ...after }
  return actOrPropose(visit, operator, { kind: 'provider.add', values, reason }, tell)
}

function printNewCredential({ proof }: Provider, operator: Operator): Html {
  return html`<section class="card"><h2>New credential</h2>
<p>For when the one it has runs out. It is used from the next sign-in on; nobody is signed out,
  and everybody stays linked.</p>
${operator.forms.print(
  forms.replaceCredential,
  { standing: { proof } },
  (view) => html`${printCredential(view)}${view.button('Replace')}`,
)}</section>`
}

export async function giveCredential(
  visit: Visit,
  operator: StrongOperator,
  { values }: Submission<typeof forms.replaceCredential>,
) {
  const provider = await providerOf(visit)
  const { db, vault } = visit.context
  await replaceCredential(db, vault, provider, readCredential(values), operator.act).catch(wordForForm)
  const page = `${here}/${provider.name}`
  const text = `The credential of ${provider.label} is replaced. Test whether the provider takes it.`
  return leadToDone(visit, operator, page, { text, link: { path: `${page}/test`, label: 'Test now' } })
}

const findingTones = { good: 'good', warning: 'wait', wrong: 'bad' } as const
const stateWords = { good: 'good', warning: 'look at this', wrong: 'wrong' }

function printFindings(findings: readonly ProviderFinding[]): Html {
  const rows = findings.map(
    ({ check, state, told }) =>
      html`<tr><td>${check}</td><td>${badge(findingTones[state], stateWords[state])}</td><td>${told}</td></tr>`,
  )
  return html`<div role="status">${table('What the test found', ['What', 'State', 'Meaning'], rows)}</div>`
}

function printFacts(provider: Provider): Html {
  const { kind, issuer, clientId, proof, credentialAt, scopes, linkClaim, linkSource } = provider
  const { strongAcr, strongAmr, ownSecondStep } = provider
  const roles = Object.entries(provider.roleMap).map(
    ([value, role]) => `${value}: ${staffRoleWords[role].title}`,
  )
  const facts: readonly (readonly [string, Html | string])[] = [
    ['For', kindWords[kind]],
    ['Issuer', issuer],
    ['Client', `${clientId}, by ${proof}`],
    ['Credential', html`since ${printDate(credentialAt)}`],
    ['Scopes', scopes.join(' ')],
    [
      'Linked by',
      linkClaim === null
        ? 'issuer and subject'
        : `${linkClaim}, which equals the external id at ${linkSource}`,
    ],
    ['Second factor', [...strongAcr, ...strongAmr].join(', ') || 'it does not say'],
    ['Second step here', ownSecondStep ? 'stands in where the provider does not say' : 'does not stand in'],
    [
      'A logout token ends',
      provider.logoutEnds === 'person' ? 'all sessions of that person' : 'the session that it names',
    ],
    ...(kind === 'staff' ? [['Roles', roles.join(', ') || 'given by hand'] as const] : []),
  ]
  return html`<section class="card"><h2>How it is set up</h2><dl>${facts.map(([name, value]) => html`<dt>${name}</dt><dd class="break">${value}</dd>`)}</dl></section>`
}

function printAddresses({ context }: Visit, { name }: Provider): Html {
  const sites = [
    ['live', context.baseUrl],
    ['sandbox', context.sisterUrl],
  ] as const
  const addresses = [
    ...sites.map(([site, url]) => [`Redirect URI, ${site}`, `${url}/login/from/${name}`] as const),
    ...sites.map(([site, url]) => [`After sign-out, ${site}`, `${url}/login/signed-out`] as const),
    ['Back-channel logout', `${context.baseUrl}/logout/from/${name}`] as const,
  ]
  return html`<section class="card"><h2>Register these at the provider</h2><dl>${addresses.map(([what, address]) => html`<dt>${what}</dt><dd class="break"><code>${address}</code></dd>`)}</dl></section>`
}

export async function remove(visit: Visit, operator: StrongOperator) {
  const provider = await providerOf(visit)
  await removeProvider(visit.context.db, provider, operator.act)
  const link = { path: '/console', label: 'Overview' }
  return leadToDone(visit, operator, here, { text: `${provider.label} is removed.`, link })
}

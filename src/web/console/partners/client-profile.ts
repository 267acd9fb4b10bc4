/** Who uses which profile, and what moves a client up to FAPI 2.0 or back. */
import type { Client } from '../../../partners/client.ts'
import { findObstacles, hasFapi2, type Readiness } from '../../../partners/client-profile.ts'
import type { ProfileRequest } from '../../../partners/profile-request.ts'
import type { FormView } from '../../frame/form-view.ts'
import { type Html, html } from '../../frame/html.ts'
import { printDate } from '../../frame/page.ts'
import { badge } from '../../frame/parts.ts'
import type { Operator } from '../../gates/gates.ts'
import { printProof, printTerms, profileBadge } from '../../parts/client-profile.ts'
import { type Offers, printOffer } from '../frame/four-eyes.ts'
import * as forms from './forms.ts'

export interface ProfilesShown {
  readonly now: Date
  readonly readiness: ReadonlyMap<string, Readiness>
  readonly requests: readonly ProfileRequest[]
}

interface ProfilePage {
  readonly profiles: ProfilesShown
  readonly operator: Operator
  readonly manages: boolean
  readonly offers: Offers
}

export function fieldsOf(client: Client, now: Date) {
  const { fapi2From, fapi2EndsBearers, demandsDpopNonces } = client
  return {
    profile: fapi2From === null ? 'standard' : 'fapi2',
    moment: fapi2From === null || hasFapi2(client, now) ? '' : fapi2From.toISOString(),
    bearers: fapi2EndsBearers ? 'end' : 'live-out',
    ...(demandsDpopNonces && { nonces: 'yes' }),
  }
}

export function printProfile(client: Client, { profiles }: ProfilePage): Html {
  const { now, readiness } = profiles
  const terms = printTerms(client, now)
  const nonces = client.demandsDpopNonces && ' · DPoP nonces demanded'
  return html`<br>${profileBadge(client, now)} <span class="faint">${terms && html`${terms} · `}${printProof(client, readiness.get(client.id)!)}${nonces}</span>`
}

/** What the partner asked for, what stands in the way, and what is set. */
export function printProfileForm(client: Client, page: ProfilePage): Html {
  const { operator, offers, profiles } = page
  const asked = profiles.requests.find(({ clientId }) => clientId === client.id)
  const standing = {
    ...fieldsOf(client, profiles.now),
    ...(client.fapi2From && !hasFapi2(client, profiles.now) && { moment: client.fapi2From }),
    ...(asked && { profile: 'fapi2', moment: asked.wishedFrom }),
  }
  const offer = {
    kind: 'client.lower-profile',
    subject: `client:${client.id}`,
    label: 'Set',
    of: `the profile of ${client.name}`,
    at: { client: client.id },
    standing,
  } as const
  const more = (view: FormView<typeof forms.setProfile.fields>) =>
    html`${view.field('profile')}${view.field('moment')}${view.field('bearers')}${view.field('nonces')}`
  return html`${asked && printAsked(client, asked, operator)}<details${
    (asked || operator.forms.holds(forms.setProfile, offer)) && html` open`
  }><summary>Change profile<span class="unseen"> of ${client.name}</span></summary>
${printObstacles(client, profiles)}${printOffer(offers, operator, forms.setProfile, { ...offer, more })}</details>`
}

function printObstacles(client: Client, { now, readiness }: ProfilesShown): Html | undefined {
  if (hasFapi2(client, now)) return undefined
  const obstacles = findObstacles(client, readiness.get(client.id)!)
  if (obstacles.length === 0) return html`<p>Nothing stands in the way of FAPI 2.0.</p>`
  return html`<p>In the way of FAPI 2.0:</p><ul>${obstacles.map(
    ({ about, text }) => html`<li>${text}${about === 'keys' && ' This may be done until the moment.'}</li>`,
  )}</ul>`
}

function printAsked(
  { id, name }: Client,
  { id: request, wishedFrom, askedAt }: ProfileRequest,
  { forms: ofPage }: Operator,
) {
  const at = { client: id }
  return html`<p>${badge('wait', 'asks for FAPI 2.0')} Asked ${printDate(askedAt)}${
    wishedFrom !== null && html`, from ${printDate(wishedFrom)} on`
  }. Setting the moment below grants it.</p><div class="acts">${ofPage.ask(forms.declineProfile, {
    ...{ at, standing: { request }, label: 'Decline', of: `FAPI 2.0 of ${name}` },
    text: 'The partner can ask again.',
  })}</div>`
}

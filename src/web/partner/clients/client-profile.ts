/** The profile of a client: what is demanded of it, what is left to do until then, and the question for FAPI 2.0. */

import { profileOf } from '../../../oauth/profile.ts'
import type { UnmetCount } from '../../../partners/calls.ts'
import type { Client } from '../../../partners/client.ts'
import { findObstacles, type Obstacle, type Readiness } from '../../../partners/client-profile.ts'
import type { ProfileRequest } from '../../../partners/profile-request.ts'
import { printAgo } from '../../frame/ago.ts'
import { type Html, html } from '../../frame/html.ts'
import { printDate } from '../../frame/page.ts'
import type { Member } from '../../gates/gates.ts'
import { printUnmet } from '../../parts/calls.ts'
import { printProof, printTerms, profileBadge } from '../../parts/client-profile.ts'
import * as forms from './forms.ts'

interface ProfileShown {
  readonly readiness: Readiness
  /** The newest. */
  readonly asked: ProfileRequest | undefined
  /** What its calls of the last day did not meet. */
  readonly unmet: readonly UnmetCount[]
  readonly now: Date
}

export function printProfile(
  client: Client,
  { readiness, asked, unmet, now }: ProfileShown,
  member: Member,
): Html {
  const profile = profileOf(client, now)
  const isOpen = asked !== undefined && asked.answeredAt === null
  const obstacles = findObstacles(client, readiness)
  return html`<section class="card" id="profile"><h2>Profile ${profileBadge(client, now)}</h2>
<p>${explain(client, now)}</p>
<p class="faint">${printProof(client, readiness)}${
    client.demandsDpopNonces && ' · its DPoP proofs carry a nonce of ours'
  }</p>
${profile === 'moving' && html`${printLeft(obstacles, client, member)}${printCalls(unmet, client, now, member)}`}
${isOpen && printOpen(asked)}${
  profile === 'standard' &&
  asked?.granted === false &&
  html`<p>Your request of ${printDate(asked.askedAt)} was
  declined on ${printDate(asked.answeredAt!)}.</p>`
}
${profile === 'standard' && !isOpen && member.isDeveloper && printForm(client, obstacles, member)}</section>`
}

function explain(client: Client, now: Date): Html {
  const terms = printTerms(client, now)
  switch (profileOf(client, now)) {
    case 'standard':
      return html`The application signs in with its client secret and uses bearer tokens. With FAPI 2.0 it proves
        itself by keys of its own, and nobody else can use its tokens.`
    case 'moving':
      return html`FAPI 2.0 is demanded ${terms}. Until then both ways are taken.`
    case 'fapi2':
      return html`FAPI 2.0 is demanded ${terms}: the application proves itself by its keys or its certificate, pushes
        its requests first, and uses sender-bound tokens. No client secret counts.`
  }
}

function printLeft(obstacles: readonly Obstacle[], client: Client, member: Member): Html {
  if (obstacles.length === 0)
    return html`<p>Keys, webhooks and callback are ready. Try the new way before the date: it is taken already.</p>`
  return html`<h3>What is left to do</h3>${printList(obstacles, client, member)}`
}

function printCalls(unmet: readonly UnmetCount[], { id }: Client, now: Date, { home }: Member): Html {
  if (unmet.length === 0) return html`<p>No call of the last 24 hours was one that FAPI 2.0 would refuse.</p>`
  const counted = ({ calls, lastAt }: UnmetCount) =>
    html` <span class="faint">${calls === 1 ? '1 call' : `${calls.toLocaleString('en')} calls`}, the last ${printAgo(lastAt, now)}</span>`
  return html`<h3>What its calls of the last 24 hours lacked</h3>
<ul>${unmet.map((each) => printUnmet(each.demand, counted(each)))}</ul>
<p><a href="${home}/calls?client=${id}&amp;unmet=yes">Those calls</a></p>`
}

function printList(obstacles: readonly Obstacle[], { id }: Client, { home }: Member): Html {
  const places: Record<Obstacle['about'], Html> = {
    webhooks: html` <a href="${home}/webhooks">Webhooks</a>`,
    callback: html` <a href="${home}/clients/${id}#change">Change the callback</a>`,
    keys: html` <a href="#keys">Public keys</a>`,
  }
  return html`<ul>${obstacles.map(({ about, text }) => html`<li>${text}${places[about]}</li>`)}</ul>`
}

function printOpen({ wishedFrom, askedAt }: ProfileRequest): Html {
  return html`<p>You asked for FAPI 2.0 on ${printDate(askedAt)}${
    wishedFrom !== null && html`, from ${printDate(wishedFrom)} on`
  }. The brokerage has not answered yet.</p>`
}

function printForm(client: Client, obstacles: readonly Obstacle[], member: Member): Html {
  const form = member.forms.print(
    forms.askFapi2,
    { at: { client: client.id } },
    (view) => html`${view.field('wished')}${view.button('Ask for FAPI 2.0')}`,
  )
  return html`${
    obstacles.length > 0 && html`<p>Before it begins:</p>${printList(obstacles, client, member)}`
  }${form}`
}

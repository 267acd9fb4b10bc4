/**
 * Where the rows of the attention queue come from, and the acts of each. Every form is one that a page of its
 * own has too.
 */

import {
  type Applicant,
  listApplicants,
  listLooksAsked,
  listProfilesAsked,
  listRefreshAsked,
  listRefusedPartners,
  listScopesAsked,
} from '../../../partners/attention.ts'
import { printSeen } from '../../../partners/partner.ts'
import { cut } from '../../../text/cut.ts'
import { listLockedPeople } from '../../../users/locked-people.ts'
import { neededOver } from '../../../users/staff-role.ts'
import type { Environment } from '../../../vocabulary/environment.ts'
import { chooseFailing } from '../../../webhooks/health/failing-webhooks.ts'
import { readFailures, type WebhookFailure } from '../../../webhooks/health/failure.ts'
import { findCause } from '../../../webhooks/health/likely-cause.ts'
import { printAge, printAgo } from '../../frame/ago.ts'
import { type Html, html } from '../../frame/html.ts'
import { printDate } from '../../frame/page.ts'
import type { PageForms } from '../../frame/page-forms.ts'
import { nameAnswer } from '../../parts/failure-words.ts'
import { lookPath } from '../partners/client-look.ts'
import * as partnerForms from '../partners/forms.ts'
import * as peopleForms from '../people/forms.ts'
import { mayActOn } from '../people/user-parts.ts'
import { askToPause } from '../webhooks/webhooks.ts'
import { certificates, sealingKeys, secrets } from './attention-ends.ts'
import { removals } from './attention-imports.ts'
import { type AttentionKind, shownEach } from './attention-row.ts'

const longestReason = 200

function quote(text: string): string {
  return `“${text.length > longestReason ? `${cut(text, longestReason)}…` : text}”`
}

const inSandbox = (environment: Environment) => environment === 'sandbox' && ' (sandbox)'

/** What is done here comes back to the queue. */
const from = 'queue'

const declined = { label: 'Decline', text: 'The partner can ask again.' }

const partnerPath = (branchId: number) => `/console/partners/${branchId}`
const toPartner = (branchId: number, name: string) => html`<a href="${partnerPath(branchId)}">${name}</a>`

/** What takes two people is proposed where everything about the partner is. */
const toPropose = (branchId: number, name: string) =>
  html`<a class="button primary" href="${partnerPath(branchId)}">Propose…<span class="unseen"> for
    ${name}</span></a>`

const applications: AttentionKind = {
  plural: 'applications',
  all: '/console/partners?state=applied',
  permission: 'partners.manage',
  async find({ db, config, operator, now }, most) {
    return (await listApplicants(db, most)).map((each) => ({
      urgency: 'decide',
      kind: 'Application',
      title: toPartner(each.branchId, each.name),
      reason: each.purpose === null ? 'No description given.' : quote(each.purpose),
      since: each.since,
      age: html`applied ${printAgo(each.since, now)}`,
      acts: config.fourEyes.includes('partner.approve')
        ? toPropose(each.branchId, each.name)
        : printDecision(each, operator.forms),
    }))
  },
}

/** One click opens it, with everything that the applicant said; the second decides. */
function printDecision(applicant: Applicant, forms: PageForms): Html {
  const { branchId, name, website, contact, purpose } = applicant
  const ofThem = { at: { branch: branchId }, standing: { from, seen: printSeen(applicant) } }
  return html`<details><summary>Decide<span class="unseen"> about ${name}</span></summary>
${purpose !== null && purpose.length > longestReason && html`<p>${purpose}</p>`}${
  website !== null &&
  html`<p
  class="faint">${website} · ${contact ?? ''}</p>`
}
${forms.button(partnerForms.approve, 'Approve', { ...ofThem, of: name, buttonLook: 'primary' })}
${forms.print(
  partnerForms.decline,
  ofThem,
  (view) => html`${view.field('reason', { hint: 'Its members read it.' })}
${view.button('Decline', { of: name, look: 'danger' })}`,
)}</details>`
}

const refreshRequests: AttentionKind = {
  plural: 'requests for refresh access',
  all: '/console/partners',
  permission: 'partners.manage',
  async find({ db, config, operator, now }, most) {
    return (await listRefreshAsked(db, most)).map(({ branchId, name, reason, since }) => {
      const ofThem = { at: { branch: branchId }, standing: { from } }
      const granted = { ...ofThem, of: `refresh access to ${name}`, buttonLook: 'primary' }
      return {
        urgency: 'decide',
        kind: 'Refresh access',
        title: toPartner(branchId, name),
        reason: quote(reason),
        since,
        age: html`asked ${printAgo(since, now)}`,
        acts: [
          config.fourEyes.includes('partner.refresh-access')
            ? toPropose(branchId, name)
            : operator.forms.button(partnerForms.grantRefresh, 'Grant', granted),
          operator.forms.ask(partnerForms.withdrawRefresh, {
            ...ofThem,
            ...declined,
            of: `refresh access of ${name}`,
          }),
        ],
      }
    })
  },
}

const scopeRequests: AttentionKind = {
  plural: 'requests for wider scopes',
  all: '/console/partners',
  permission: 'partners.manage',
  async find({ db, config, operator, now }, most) {
    return (await listScopesAsked(db, most)).map(
      ({ id, branchId, name, clientId, client, environment, scopes, reason, since }) => {
        const asked = {
          at: { branch: branchId, client: clientId },
          standing: { from, request: id },
          of: `${scopes.join(' ')} to ${client}`,
        }
        return {
          urgency: 'decide',
          environment,
          kind: 'Wider scopes',
          title: toPartner(branchId, name),
          reason: html`<strong>${scopes.join(' ')}</strong> for ${client}${inSandbox(environment)}: ${quote(reason)}`,
          since,
          age: html`asked ${printAgo(since, now)}`,
          acts: [
            config.fourEyes.includes('partner.widen-scopes')
              ? toPropose(branchId, name)
              : operator.forms.button(partnerForms.grantScopes, 'Grant', { ...asked, buttonLook: 'primary' }),
            operator.forms.ask(partnerForms.declineScopes, { ...asked, ...declined }),
          ],
        }
      },
    )
  },
}

/** It is granted where what stands in its way is. */
const profileRequests: AttentionKind = {
  plural: 'requests for FAPI 2.0',
  all: '/console/partners',
  permission: 'partners.manage',
  async find({ db, operator, now }, most) {
    return (await listProfilesAsked(db, most)).map(
      ({ id, branchId, name, clientId, client, environment, wishedFrom, since }) => ({
        urgency: 'decide',
        environment,
        kind: 'FAPI 2.0',
        title: toPartner(branchId, name),
        reason: html`${client}${inSandbox(environment)}${wishedFrom !== null && html`, from ${printDate(wishedFrom)} on`}`,
        since,
        age: html`asked ${printAgo(since, now)}`,
        acts: [
          html`<a class="button" href="${partnerPath(branchId)}#client-${clientId}">Set the moment<span
            class="unseen"> for ${client}</span></a>`,
          operator.forms.ask(partnerForms.declineProfile, {
            ...{ at: { branch: branchId, client: clientId }, standing: { from, request: id } },
            ...{ ...declined, of: `FAPI 2.0 of ${client}` },
          }),
        ],
      }),
    )
  },
}

/** A logo has to be looked at: the acts are on its page. */
const looks: AttentionKind = {
  plural: 'consent pages to look at',
  all: '/console/partners',
  permission: 'partners.manage',
  async find({ db, now }, most) {
    return (await listLooksAsked(db, most)).map(
      ({ environment, branchId, name, clientId, client, purpose, since }) => ({
        urgency: 'decide',
        environment,
        kind: 'Consent page',
        title: toPartner(branchId, name),
        reason: html`${client}${inSandbox(environment)}${purpose !== null && html`: ${quote(purpose)}`}`,
        since,
        age: html`sent ${printAgo(since, now)}`,
        acts: html`<a class="button" href="${lookPath({ branchId, id: clientId })}">Review<span class="unseen">
        ${client}</span></a>`,
      }),
    )
  },
}

const failingWebhooks: AttentionKind = {
  plural: 'failing webhooks',
  all: '/console/webhooks',
  permission: 'webhooks.see',
  async find({ db, operator, now, lanes }, most) {
    const failing = await chooseFailing(db, await lanes(), 'live', now, most)
    const failures = await readFailures(db, failing.slice(0, shownEach))
    return failing.map((each) => ({
      urgency: each.condition === 'breaker open' ? 'now' : 'soon',
      kind: 'Failing webhook',
      title: html`<a class="url" href="/console/webhooks/${each.id}">${each.url}</a>`,
      reason: html`${toPartner(each.branchId, each.partner)}: ${each.failures.toLocaleString('en')} attempts
        in a row failed${each.condition === 'breaker open' && '; one retry a minute'}. ${causeOf(failures.get(each.id))}`,
      since: each.failingSince,
      age: html`for ${printAge(now.getTime() - each.failingSince.getTime()) ?? 'less than a minute'}`,
      acts: html`<a class="button" href="/console/webhooks/${each.id}/incident">See why<span class="unseen">:
        ${each.url}</span></a>${operator.may('webhooks.operate') && askToPause(each, operator, from)}`,
    }))
  },
}

function causeOf(failure: WebhookFailure | undefined): string | undefined {
  return failure?.last && `${nameAnswer(failure.last)}: ${findCause(failure.last).title}`
}

const refusedPartners: AttentionKind = {
  plural: 'partners with failed API calls',
  all: '/console/partners',
  permission: 'partners.see',
  async find({ db, now }, most) {
    return (await listRefusedPartners(db, now, most)).map(({ branchId, name, calls, since }) => ({
      urgency: 'soon',
      kind: 'Failed API calls',
      title: toPartner(branchId, name),
      reason: `${calls.toLocaleString('en')} failed API calls in the last hour (of those kept).`,
      since,
      age: html`first ${printAgo(since, now)}`,
      acts: html`<a class="button" href="${partnerPath(branchId)}/calls?failed=yes">See why<span class="unseen">:
        ${name}</span></a>`,
    }))
  },
}

const toUser = (userId: string, name: string) => html`<a href="/console/users/${userId}">${name}</a>`

const lockedApps: AttentionKind = {
  plural: 'locked authenticator apps',
  all: '/console/audit?action=second_factor.locked',
  permission: 'users.manage',
  async find({ db, now }, most) {
    return (await listLockedPeople(db, 'app locked', now, most)).map(({ userId, name, since }) => ({
      urgency: 'now',
      kind: 'Authenticator locked',
      title: toUser(userId, name),
      reason:
        'A hundred wrong codes in a row: somebody knows the password. A recovery code unlocks the app; without one, reset two-factor.',
      since,
      age: html`locked ${printAgo(since, now)}`,
      acts: html`<a class="button" href="/console/users/${userId}#two-factor">Reset two-factor…<span
        class="unseen"> of ${name}</span></a>`,
    }))
  },
}

const throttled: AttentionKind = {
  plural: 'people who have to wait',
  all: '/console/audit?action=session.throttled',
  permission: 'users.manage',
  async find({ db, operator, now }, most) {
    return (await listLockedPeople(db, 'must wait', now, most)).map(({ userId, name, since, ...person }) => ({
      urgency: 'soon',
      kind: 'Sign-in throttled',
      title: toUser(userId, name),
      reason: 'Several sign-ins in a row failed, so further attempts have to wait.',
      since,
      age: printAgo(since, now),
      acts:
        mayActOn(operator, neededOver(person)) &&
        operator.forms.button(peopleForms.liftThrottle, 'Let them sign in', {
          ...{ at: { id: userId }, standing: { from }, of: name },
        }),
    }))
  },
}

const lockedOut: AttentionKind = {
  plural: 'people who were locked lately',
  all: '/console/users?state=locked',
  permission: 'users.manage',
  async find({ db, operator, now }, most) {
    return (await listLockedPeople(db, 'locked', now, most)).map(({ userId, name, since, ...person }) => ({
      urgency: 'know',
      kind: 'Locked',
      title: toUser(userId, name),
      reason:
        'Locked by an operator, not by the brokerage’s own system. Tokens work again when they are unlocked; sessions do not come back.',
      since,
      age: html`locked ${printAgo(since, now)}`,
      acts:
        mayActOn(operator, neededOver(person)) &&
        operator.forms.button(peopleForms.unlockUser, 'Unlock', {
          ...{ at: { id: userId }, standing: { from }, of: name },
        }),
    }))
  },
}

export const attentionKinds: readonly AttentionKind[] = [
  ...[
    applications,
    refreshRequests,
    scopeRequests,
    profileRequests,
    looks,
    removals,
    failingWebhooks,
    refusedPartners,
  ],
  ...[lockedApps, throttled, lockedOut, certificates, secrets, sealingKeys],
]

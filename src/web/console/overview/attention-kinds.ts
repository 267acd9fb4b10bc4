/**
 * Where the rows of the attention queue come from, and the acts of each. Every form is one that a page of its
 * own has too.
 */

import {
  type Applicant,
  listApplicants,
  listLooksAsked,
  listRefreshAsked,
  listRefusedPartners,
  listScopesAsked,
} from '../../../partners/attention.ts'
import { printSeen } from '../../../partners/partner.ts'
import { cut } from '../../../text/cut.ts'
import { listLockedPeople } from '../../../users/locked-people.ts'
import { neededOver } from '../../../users/staff-role.ts'
import { listFailingWebhooks } from '../../../webhooks/health/failing-webhooks.ts'
import { readFailures, type WebhookFailure } from '../../../webhooks/health/failure.ts'
import { findCause } from '../../../webhooks/health/likely-cause.ts'
import { askFirst } from '../../frame/ask.ts'
import { fieldLengths } from '../../frame/field-lengths.ts'
import { type Content, type Html, html } from '../../frame/html.ts'
import { csrfField } from '../../frame/page.ts'
import { nameAnswer } from '../../parts/failure-words.ts'
import { printAge, printAgo } from '../frame/ago.ts'
import { lookPath } from '../partners/client-look.ts'
import { mayActOn } from '../people/user-parts.ts'
import { askToPause } from '../webhooks/webhooks.ts'
import { certificates, sealingKeys, secrets } from './attention-ends.ts'
import { removals } from './attention-imports.ts'
import type { AttentionKind } from './attention-row.ts'

const longestReason = 200

function quote(text: string): string {
  return `“${text.length > longestReason ? `${cut(text, longestReason)}…` : text}”`
}

/** A button that does it and comes back to the queue. */
function act(
  csrf: string,
  action: string,
  label: string,
  of: string,
  kind = '',
  more: Content = undefined,
): Html {
  return html`<form method="post" action="${action}">${csrfField(csrf)}<input type="hidden" name="from"
    value="queue">${more}<button class="${kind}">${label}<span class="unseen"> ${of}</span></button></form>`
}

function decline(
  csrf: string,
  action: string,
  of: string,
  fields: Readonly<Record<string, string | number>> = {},
): Html {
  const text = 'The partner can ask again.'
  return askFirst({
    action,
    csrf,
    fields: { ...fields, from: 'queue' },
    label: 'Decline',
    of,
    text,
    why: true,
  })
}

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
        : printDecision(each, operator.csrf),
    }))
  },
}

/** One click opens it, with everything that the applicant said; the second decides. */
function printDecision(applicant: Applicant, csrf: string): Html {
  const { branchId, name, website, contact, purpose } = applicant
  const seen = html`<input type="hidden" name="seen" value="${printSeen(applicant)}">`
  const field = `reason-${branchId}`
  const decline = html`${seen}<div class="field"><label for="${field}">Reason to decline</label><textarea
    id="${field}" name="reason" rows="3" required
    maxlength="${fieldLengths['/console/partners/:branch/decline'].reason}"></textarea><p class="hint">Its
    members read it.</p></div>`
  return html`<details><summary>Decide<span class="unseen"> about ${name}</span></summary>
${purpose !== null && purpose.length > longestReason && html`<p>${purpose}</p>`}${
  website !== null &&
  html`<p
  class="faint">${website} · ${contact ?? ''}</p>`
}
${act(csrf, `${partnerPath(branchId)}/approve`, 'Approve', name, 'primary', seen)}
${act(csrf, `${partnerPath(branchId)}/decline`, 'Decline', name, 'danger', decline)}</details>`
}

const refreshRequests: AttentionKind = {
  plural: 'requests for refresh access',
  all: '/console/partners',
  permission: 'partners.manage',
  async find({ db, config, operator, now }, most) {
    return (await listRefreshAsked(db, most)).map(({ branchId, name, reason, since }) => ({
      urgency: 'decide',
      kind: 'Refresh access',
      title: toPartner(branchId, name),
      reason: quote(reason),
      since,
      age: html`asked ${printAgo(since, now)}`,
      acts: [
        config.fourEyes.includes('partner.refresh-access')
          ? toPropose(branchId, name)
          : act(
              operator.csrf,
              `${partnerPath(branchId)}/refresh/grant`,
              'Grant',
              `refresh access to ${name}`,
              'primary',
            ),
        decline(operator.csrf, `${partnerPath(branchId)}/refresh/withdraw`, `refresh access of ${name}`),
      ],
    }))
  },
}

const scopeRequests: AttentionKind = {
  plural: 'requests for wider scopes',
  all: '/console/partners',
  permission: 'partners.manage',
  async find({ db, config, operator, now }, most) {
    return (await listScopesAsked(db, most)).map(
      ({ id, branchId, name, clientId, client, scopes, reason, since }) => {
        const at = `${partnerPath(branchId)}/clients/${clientId}/scopes`
        const request = html`<input type="hidden" name="request" value="${id}">`
        const what = `${scopes.join(' ')} to ${client}`
        return {
          urgency: 'decide',
          kind: 'Wider scopes',
          title: toPartner(branchId, name),
          reason: html`<strong>${scopes.join(' ')}</strong> for ${client}: ${quote(reason)}`,
          since,
          age: html`asked ${printAgo(since, now)}`,
          acts: [
            config.fourEyes.includes('partner.widen-scopes')
              ? toPropose(branchId, name)
              : act(operator.csrf, `${at}/grant`, 'Grant', what, 'primary', request),
            decline(operator.csrf, `${at}/decline`, what, { request: id }),
          ],
        }
      },
    )
  },
}

/** A logo has to be looked at: the acts are on its page. */
const looks: AttentionKind = {
  plural: 'consent pages to look at',
  all: '/console/partners',
  permission: 'partners.manage',
  async find({ db, now }, most) {
    return (await listLooksAsked(db, most)).map(({ branchId, name, clientId, client, purpose, since }) => ({
      urgency: 'decide',
      kind: 'Consent page',
      title: toPartner(branchId, name),
      reason: html`${client}${purpose !== null && html`: ${quote(purpose)}`}`,
      since,
      age: html`sent ${printAgo(since, now)}`,
      acts: html`<a class="button" href="${lookPath({ branchId, id: clientId })}">Review<span class="unseen">
        ${client}</span></a>`,
    }))
  },
}

const failingWebhooks: AttentionKind = {
  plural: 'failing webhooks',
  all: '/console/webhooks',
  permission: 'webhooks.see',
  async find({ db, operator, now }, most) {
    const failing = await listFailingWebhooks(db, most)
    const failures = await readFailures(db, failing)
    return failing.map((each) => ({
      urgency: each.isOpen ? 'now' : 'soon',
      kind: 'Failing webhook',
      title: html`<a class="url" href="/console/webhooks/${each.id}">${each.url}</a>`,
      reason: html`${toPartner(each.branchId, each.partner)}: ${each.failures.toLocaleString('en')} attempts
        in a row failed${each.isOpen && '; one retry a minute'}${each.environment === 'sandbox' && ' (sandbox)'}. ${causeOf(failures.get(each.id))}`,
      since: each.since,
      age: html`for ${printAge(now.getTime() - each.since.getTime()) ?? 'less than a minute'}`,
      acts: html`<a class="button" href="/console/webhooks/${each.id}/incident">See why<span class="unseen">:
        ${each.url}</span></a>${operator.may('webhooks.operate') && askToPause(each, operator.csrf, { from: 'queue' })}`,
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
      acts: html`<a class="button" href="${partnerPath(branchId)}/failed-calls">See why<span class="unseen">:
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
        act(operator.csrf, `/console/users/${userId}/throttle/lift`, 'Let them sign in', name),
    }))
  },
}

const lockedOut: AttentionKind = {
  plural: 'people who were locked lately',
  all: '/console/audit?action=user.disabled',
  permission: 'users.manage',
  async find({ db, operator, now }, most) {
    return (await listLockedPeople(db, 'locked', now, most)).map(({ userId, name, since, ...person }) => ({
      urgency: 'know',
      kind: 'Locked',
      title: toUser(userId, name),
      reason:
        'Locked out by an operator. Tokens work again when they are unlocked; sessions do not come back.',
      since,
      age: html`locked ${printAgo(since, now)}`,
      acts:
        mayActOn(operator, neededOver(person)) &&
        act(operator.csrf, `/console/users/${userId}/unlock`, 'Unlock', name),
    }))
  },
}

export const attentionKinds: readonly AttentionKind[] = [
  ...[applications, refreshRequests, scopeRequests, looks, removals, failingWebhooks, refusedPartners],
  ...[lockedApps, throttled, lockedOut, certificates, secrets, sealingKeys],
]

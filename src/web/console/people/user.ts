/**
 * One user: what they have, where they are signed in, what acts for them. Each part has its own words and
 * forms.
 */

import { findHistory } from '../../../audit/history.ts'
import { listAuthorizations } from '../../../oauth/authorization.ts'
import { listPartnersOf, type PartnerMembership } from '../../../partners/partner.ts'
import { cut } from '../../../text/cut.ts'
import { type Holding, listHoldings } from '../../../users/account.ts'
import { listApiTokens } from '../../../users/api-token.ts'
import { findMail } from '../../../users/email.ts'
import { findLoginFailures } from '../../../users/login-throttle.ts'
import { findSecondFactors } from '../../../users/second-factor.ts'
import { listSessions } from '../../../users/session.ts'
import { findNeededOver } from '../../../users/staff-role.ts'
import { getUserById, type User } from '../../../users/user.ts'
import { type Content, type Html, html } from '../../frame/html.ts'
import { printDate } from '../../frame/page.ts'
import { badge, crumbs, facts } from '../../frame/parts.ts'
import { paramsOf, type Visit } from '../../frame/visit.ts'
import type { Operator } from '../../gates/gates.ts'
import { printNewest } from '../audit/entry-sentences.ts'
import { mayFollow, sendConsole } from '../frame/console.ts'
import { readOffers } from '../frame/four-eyes.ts'
import { printFailedCallsOf, printWebhooksOf } from '../partners/partner-sections.ts'
import { partnerBadge } from '../partners/partners.ts'
import { printMail } from './user-mail-part.ts'
import {
  mayActOn,
  printApplications,
  printFactors,
  printSessions,
  printStatus,
  printThrottle,
  printTokens,
} from './user-parts.ts'
import { roleBadge, statusBadge } from './users.ts'

const historyShown = 8
const partnersShown = 5
const ofPartnerShown = 3

export function userOf({ context, request }: Visit): Promise<User> {
  return getUserById(context.db, cut(paramsOf(request).id ?? '', 100))
}

export function throttleKey({ context }: Visit): Buffer {
  return context.vault.derive('login-throttle')[0]!
}

export async function showUser(visit: Visit, operator: Operator) {
  const user = await userOf(visit)
  const { db, clock } = visit.context
  const now = clock.now()
  const accounts = await listHoldings(db, user.id)
  const partners = await listPartnersOf(db, user.id)
  const history = await findHistory(db, user.id, { before: undefined, limit: historyShown })
  const page = {
    user,
    operator,
    isSelf: user.id === operator.session.user.id,
    mayAct: mayActOn(operator, await findNeededOver(db, user)),
    offers: await readOffers(visit),
  }
  return sendConsole(visit, operator, {
    title: user.name,
    section: '/console/users',
    body: html`${crumbs([{ path: '/console/users', label: 'Users' }])}
<h1>${user.name} ${statusBadge(user)} ${roleBadge(user)}</h1>
${printPerson(user, accounts, partners, operator)}
${printStatus(page)}
${user.role !== 'test' && printMail(page, await findMail(db, user.id))}
${printThrottle(page, await findLoginFailures(db, user, throttleKey(visit), now))}
${printSessions(page, await listSessions(db, user.id, now))}
${user.role !== 'test' && printFactors(page, await findSecondFactors(db, user.id))}
${user.role !== 'test' && printTokens(page, await listApiTokens(db, user.id))}
${printApplications(page, await listAuthorizations(db, { userId: user.id }))}
${await printPartnersOf(visit, operator, partners)}
<section class="card"><h2>History</h2>${await printNewest({ db, now, operator }, history.entries, mayFollow(operator, '/console/audit') && printAll(user))}</section>`,
  })
}

/** What goes wrong with the partners that a user is a member of is what they call about. */
async function printPartnersOf(
  { context }: Visit,
  operator: Operator,
  partners: readonly PartnerMembership[],
): Promise<Html[]> {
  const around = { db: context.db, now: context.clock.now(), most: ofPartnerShown, operator }
  return Promise.all(
    partners.slice(0, partnersShown).map(
      async ({ branchId, name, status }) => html`<section class="card"><h2><a
        href="/console/partners/${branchId}">${name}</a> ${partnerBadge(status)}</h2>
<h3>Webhooks</h3>${await printWebhooksOf(around, branchId)}
<h3>Failed API calls</h3>${await printFailedCallsOf(around, branchId)}</section>`,
    ),
  )
}

function printAll({ id }: User): Html {
  return html`<a href="/console/audit?subject=user:${id}">All about them</a> ·
    <a href="/console/audit?actor=user:${id}">All that they did</a>`
}

function printRole(user: User, operator: Operator): Content {
  switch (user.role) {
    case 'holder':
      return 'account holder'
    case 'operator':
      return printStaff(user, operator)
    case 'member':
      return 'joined a partner by an invitation; no customer'
    case 'test':
      return html`test holder of <a href="/console/partners/${user.testOf!}">branch ${user.testOf!}</a>`
  }
}

function printStaff({ id }: User, operator: Operator): Html {
  const path = `/console/staff/${id}`
  return html`staff of the brokerage ${mayFollow(operator, path) && html`· <a href="${path}">Roles</a>`}`
}

function printPerson(
  user: User,
  accounts: readonly Holding[],
  partners: readonly PartnerMembership[],
  operator: Operator,
): Html {
  const memberships = partners.map(
    ({ branchId, name, status, role }) =>
      html`<a href="/console/partners/${branchId}">${name}</a> ${partnerBadge(status)} ${role}<br>`,
  )
  return html`<section class="card"><h2>Person</h2>${facts([
    ['Username', user.username],
    ['Id', html`<code>${user.id}</code>`],
    ['Role', printRole(user, operator)],
    ['Since', printDate(user.createdAt)],
    ['Accounts', accounts.length === 0 ? 'none' : accounts.map(printAccount)],
    ['Member of', partners.length > 0 && memberships],
  ])}</section>`
}

function printAccount(account: Holding): Html {
  const {
    accountNumber,
    type,
    classification,
    optionLevel,
    status,
    environment,
    dayTrader,
    role,
    holdingStatus,
  } = account
  return html`<code>${accountNumber}</code> ${role !== 'owner' && `${role}, `}${type}, ${classification},
    option level ${optionLevel}${dayTrader && ', day trader'} ${status === 'closed' && badge('off', 'closed')}
    ${holdingStatus === 'suspended' && badge('off', 'suspended')} ${
      environment === 'sandbox' &&
      html`<span
    class="badge sandbox">Sandbox</span>`
    }<br>`
}

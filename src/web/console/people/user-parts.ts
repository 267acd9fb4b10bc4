/**
 * The parts of a user's page, each with the form that goes with it. No part shows a secret, nor what could be
 * used as one.
 */
import type { Authorization } from '../../../oauth/authorization.ts'
import type { ApiToken } from '../../../users/api-token.ts'
import type { LoginFailures } from '../../../users/login-throttle.ts'
import { isGuarded, type SecondFactors } from '../../../users/second-factor.ts'
import type { SignedInDevice } from '../../../users/session.ts'
import type { User } from '../../../users/user.ts'
import { deviceWords } from '../../../vocabulary/device-words.ts'
import type { Permission } from '../../../vocabulary/permission.ts'
import { type Content, type Html, html } from '../../frame/html.ts'
import { printDate } from '../../frame/page.ts'
import { badge } from '../../frame/parts.ts'
import type { Operator } from '../../gates/gates.ts'
import { type Offers, printOffer } from '../frame/four-eyes.ts'
import * as forms from './forms.ts'

interface UserPage {
  readonly user: User
  /** Who looks. */
  readonly operator: Operator
  /** Whether the reader may change anything here. */
  readonly mayAct: boolean
  readonly offers: Offers
  /** Operators who look at themselves. */
  readonly isSelf: boolean
}

/**
 * An operator who helps people does not lock out or unguard the staff who watch over them: `needed` is what
 * it takes over the user they act on.
 */
export function mayActOn({ may }: Pick<Operator, 'may'>, needed: readonly Permission[]): boolean {
  return may('users.manage') && needed.every((each) => may(each))
}

/** More are closed together. */
const sessionsShown = 10
const applicationsShown = 20

export function printStatus({ user, operator, isSelf, mayAct }: UserPage): Html {
  if (isSelf)
    return html`<section class="card"><h2>Access</h2><p>This is you. Another operator can lock you out;
      you cannot do it yourself.</p></section>`
  if (user.status === 'active')
    return html`<section class="card"><h2>Access</h2>
<p>Locking ends every session at once, on both sites. Personal and sandbox tokens,
  and the tokens of connected applications, are refused from the next request on. None of the tokens is lost:
  unlocked, the user finds them working again.</p>
${mayAct && operator.forms.ask(forms.lockUser, { label: 'Lock out', text: 'Every session ends at once.' })}</section>`
  if (user.lockedBy !== 'operator')
    return html`<section class="card"><h2>Access</h2>
<p>${user.lockedBy === 'removal' ? 'Removed' : 'Disabled'} by your own system,
  which says who your customers are: nobody can sign in as this user,
  and tokens that act for them are refused, until it lets them in again. No operator has locked them out;
  whom one locks too stays out then.</p>
${
  mayAct &&
  operator.forms.ask(forms.lockUser, {
    label: 'Lock out too',
    text: 'They stay locked when your own system lets them in again.',
  })
}</section>`
  return html`<section class="card"><h2>Access</h2>
<p>Locked out: nobody can sign in as this user, and tokens that act for them are refused.
  Unlocking lets the tokens that were not revoked work again; sessions do not come back.
  If the tokens may be in wrong hands, revoke them below first.</p>
${mayAct && operator.forms.button(forms.unlockUser, 'Unlock', { buttonLook: 'primary' })}</section>`
}

export function printThrottle(
  { operator, mayAct }: UserPage,
  { failures, blockedUntil }: LoginFailures,
): Html {
  const state = blockedUntil
    ? badge('bad', 'must wait')
    : failures > 0
      ? badge('wait', 'counted')
      : badge('off', 'none')
  const words = blockedUntil
    ? html`<p>${failures} in the last minutes. From devices that the user has not used before,
      sign-in is refused until ${printDate(blockedUntil)}.</p>`
    : html`<p>${failures} in the last minutes. Sign-in is not restricted yet.</p>`
  return html`<section class="card"><h2>Failed sign-ins ${state}</h2>
${failures === 0 ? html`<p class="empty">None in the last minutes.</p>` : words}
${mayAct && failures > 0 && operator.forms.button(forms.liftThrottle, 'Reset counter')}</section>`
}

export function printSessions({ operator, mayAct }: UserPage, sessions: readonly SignedInDevice[]): Html {
  const items = sessions.slice(0, sessionsShown).map((each) => {
    const words = deviceWords(each.userAgent)
    return printItem(
      html`<strong>${words}</strong> ${inSandbox(each)}
        ${each.id === operator.session.id && badge('good', 'this one')}`,
      html`from ${each.address} · signed in ${printDate(each.firstSeenAt)} · last active
        ${printDate(each.lastSeenAt)}`,
      mayAct &&
        operator.forms.ask(forms.closeSession, {
          ...{ standing: { session: each.id }, label: 'Close', of: `${words}, ${each.address}` },
          text: 'Whoever uses it is signed out at once.',
        }),
    )
  })
  return html`<section class="card"><h2>Sessions</h2>${printItems(items, 'Signed in nowhere.')}
${
  sessions.length > sessionsShown &&
  html`<p class="faint">${sessions.length - sessionsShown} more are not
  shown.</p>`
}
${
  mayAct &&
  items.length > 0 &&
  operator.forms.ask(forms.closeSessions, {
    label: 'Close all',
    text: 'The user is signed out everywhere at once, on both sites.',
  })
}</section>`
}

export function printFactors(page: UserPage, factors: SecondFactors): Html {
  const { isSelf, mayAct } = page
  const { totp, passkeys, recoveryCodes } = factors
  const app =
    totp &&
    printItem(
      html`<strong>Authenticator app</strong>`,
      html`since ${printDate(totp.createdAt)} · ${lastUse(totp)}${
        totp.lockedAt !== null &&
        html` · locked
        after a hundred wrong codes ${printDate(totp.lockedAt)}; a recovery code unlocks it`
      }`,
    )
  const keys = passkeys.map((each) =>
    printItem(
      html`<strong>${each.name}</strong> <span class="badge">Passkey</span> ${inSandbox(each)}`,
      html`since ${printDate(each.createdAt)} · ${lastUse(each)}`,
    ),
  )
  const codes =
    isGuarded(factors) && printItem(html`<strong>Recovery codes</strong>`, html`${recoveryCodes} left`)
  const items = [app, ...keys, codes].filter((each): each is Html => each !== undefined && each !== false)
  const reset = isSelf
    ? html`<p>Your own are changed on <a href="/account/security">your security page</a>.</p>`
    : html`<p>For somebody who has lost all of them. Make sure first who asks:
      afterwards the password alone is enough to sign in. Every session ends.
      You are asked for your own password if you entered it more than five minutes ago.</p>
${printReset(page)}`
  return html`<section class="card"
    id="two-factor"><h2>Two-factor authentication ${isGuarded(factors) ? badge('good', 'on') : badge('off', 'off')}</h2>
${printItems(items, 'None: the password is all it takes to sign in.')}${isGuarded(factors) && (mayAct || isSelf) && reset}</section>`
}

function printReset({ user, operator, offers }: UserPage): Html {
  const label = 'Reset two-factor'
  const kind = 'user.reset-two-factor'
  const subject = `user:${user.id}`
  if (offers.takesTwo(kind) || offers.findWaiting(kind, subject))
    return printOffer(offers, operator, forms.resetFactors, { label, kind, subject })
  const text = 'From then on the password alone is enough.'
  return operator.forms.ask(forms.resetFactors, { label, text })
}

export function printTokens({ operator, mayAct }: UserPage, tokens: readonly ApiToken[]): Html {
  const items = tokens.map((each) =>
    printItem(
      html`<strong>${each.name}</strong>
        ${
          each.environment === 'live'
            ? badge('off', 'Personal API token')
            : html`<span
        class="badge sandbox">Sandbox token</span>`
        }`,
      html`ends in <code>${each.hint}</code> · made ${printDate(each.createdAt)} ·
        may: ${each.scopes.join(' ')} ·
        ${each.expiresAt === null ? 'never expires' : html`ends ${printDate(each.expiresAt)}`} · ${lastUse(each)}`,
      mayAct &&
        operator.forms.ask(forms.revokeToken, {
          ...{ standing: { token: each.id }, label: 'Revoke', of: each.name },
          text: 'Programs that use it are refused from their next request on.',
        }),
    ),
  )
  return html`<section class="card"><h2>Tokens</h2>${printItems(items, 'There are none.')}</section>`
}

export function printApplications(
  { operator, mayAct }: UserPage,
  applications: readonly Authorization[],
): Html {
  const items = applications.slice(0, applicationsShown).map((each) =>
    printItem(
      html`<strong>${each.clientName}</strong> by ${each.partnerName} ${inSandbox(each)}
        ${each.pausedAt !== null && badge('off', 'paused by the user')}`,
      html`${each.scopes.join(' ')} · accounts
        ${each.accountNumbers.length > 0 ? each.accountNumbers.join(', ') : 'none'} · since
        ${printDate(each.approvedAt)} · ${lastUse(each)}`,
      mayAct &&
        operator.forms.ask(forms.revokeApplication, {
          ...{ standing: { authorization: each.id }, label: 'Revoke', of: each.clientName },
          text: 'It loses its access at once.',
        }),
    ),
  )
  return html`<section class="card"><h2>Connected applications</h2>${printItems(items, 'There are none.')}
${
  applications.length > applicationsShown &&
  html`<p class="faint">and
  ${applications.length - applicationsShown} more, used less recently</p>`
}</section>`
}

function lastUse({ lastUsedAt }: { readonly lastUsedAt: Date | null }): Html {
  return html`last used ${lastUsedAt ? printDate(lastUsedAt) : 'never'}`
}

function inSandbox({ environment }: { readonly environment: string }): Html | false {
  return environment === 'sandbox' && html`<span class="badge sandbox">Sandbox</span>`
}

function printItem(title: Content, text: Content, act?: Html | false): Html {
  return html`<li><div>${title}<br><span class="faint">${text}</span></div>${act}</li>`
}

function printItems(items: readonly Html[], empty: string): Html {
  return items.length === 0 ? html`<p class="empty">${empty}</p>` : html`<ul class="tokens">${items}</ul>`
}

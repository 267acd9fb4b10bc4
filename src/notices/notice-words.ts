/**
 * Notices in plain words: what happened, when, from where, and what to do if it should not have. No secret,
 * and no link that carries one but an invitation's and a password reset's (decision 0024). Addresses of
 * webhooks are named by their host alone, because partners put secrets into the rest.
 */

import type { Vault } from '../crypto/vault.ts'
import { houseBrand } from '../vocabulary/brand.ts'
import { deviceWords } from '../vocabulary/device-words.ts'
import type { SiteAddresses } from '../vocabulary/environment.ts'
import { type Scope, scopes } from '../vocabulary/scope.ts'
import { scopeWords } from '../vocabulary/scope-words.ts'
import { digestWords } from './digest-words.ts'
import { endingClientSecret, endingSigningSecret } from './ending-words.ts'
import type { GuardFacts, NoticeFacts, NoticeKind } from './facts.ts'
import { type Letter, printLetter } from './letter.ts'
import { memberTellers } from './member-words.ts'
import { type NoticeWords, oneLine } from './message.ts'
import { noticesADay } from './notice.ts'
import { type Brands, type NoticeText, type NoticeWriter, printMoment } from './notice-text.ts'
import type { NoticeToSend } from './post.ts'
import { resetTellers } from './reset-words.ts'
import { staffTellers } from './staff-words.ts'
import { webhookFacts, webhookPage } from './webhook-words.ts'

const tellers: { readonly [Kind in NoticeKind]: NoticeWriter<Kind> } = {
  'sign-in': ({ environment, address, userAgent }, at, addresses) => ({
    environment,
    subject: 'New sign-in to your account',
    happened: 'Somebody signed in to your account from a device that was not seen before.',
    facts: [
      ['When', printMoment(at)],
      ['From', oneLine(address)],
      ['Device', deviceWords(userAgent)],
    ],
    advice: `If it was you, there is nothing to do. If it was not: sign in at ${addresses.live} and sign that device out under “Sign-ins and devices”, then change your password under “Security”.`,
  }),
  application: ({ environment, client, partner, scopes: granted, address }, at, addresses) => ({
    environment,
    subject: 'A new application may use your account',
    happened: 'A new application was connected to your account.',
    facts: [
      ['Application', `“${oneLine(client)}”`],
      ['By', `“${oneLine(partner)}”`],
      ['It may', listScopes(granted)],
      ['When', printMoment(at)],
      ...(address === null ? [] : [['From', oneLine(address)] as const]),
    ],
    advice: `If you allowed this, there is nothing to do. If you did not: sign in at ${addresses[environment]} and revoke its access under “Connected applications”, then change your password under “Security”${environment === 'sandbox' ? ` at ${addresses.live}` : ''}.`,
  }),
  'access-ended': ({ environment, client, partner, accounts, ended, reason }, at, addresses) => ({
    environment,
    subject: ended ? 'An application no longer has access' : 'An application lost access to an account',
    happened: ended
      ? 'An application that you had allowed has no access any more, because of a change to your accounts.'
      : 'An application that you had allowed can no longer use one of your accounts, because of a change to it.',
    facts: [
      ['Application', `“${oneLine(client)}”`],
      ['By', `“${oneLine(partner)}”`],
      [accounts.length === 1 ? 'Account' : 'Accounts', oneLine(accounts.join(', '))],
      ['Why', oneLine(reason)],
      ['When', printMoment(at)],
    ],
    advice: `There is nothing to do. What applications can use is listed at ${addresses[environment]} under “Connected applications”.`,
  }),
  address: (facts, at, addresses) => ({
    ...guarded(facts, at, addresses),
    subject:
      facts.changed === 'removed' ? 'Your e-mail address was removed' : 'Your e-mail address was changed',
    happened:
      facts.changed === 'removed'
        ? 'The e-mail address of your account was removed. Notices no longer come.'
        : 'Notices about your account now go to another address.',
  }),
  password: (facts, at, addresses) => ({
    ...guarded(facts, at, addresses),
    subject: 'Your password was changed',
    happened: 'The password of your account was changed. Whoever was signed in elsewhere is signed out.',
  }),
  'second-factor': (facts, at, addresses) => ({
    ...guarded(facts, at, addresses),
    ...factorWords(facts),
    ...(facts.change === 'locked' && lockedWords(at, addresses)),
  }),
  'recovery-codes': (facts, at, addresses) => ({
    ...guarded(facts, at, addresses),
    subject: 'New recovery codes were made',
    happened: 'New recovery codes were made for your account. Older ones no longer work.',
  }),
  'api-token': (facts, at, addresses) => {
    const common = guarded(facts, at, addresses)
    const kind = facts.environment === 'sandbox' ? 'sandbox, no real money' : 'live'
    return {
      ...common,
      subject: 'An API token was made for your account',
      happened:
        'An API token was made for your account. It acts as you, with every scope, until it is revoked.',
      facts: [['Name', `“${oneLine(facts.name)}”`], ['Kind', kind], ...common.facts],
    }
  },
  'webhook-failing': (facts, _at, addresses) => ({
    environment: facts.environment,
    subject: `Webhook ${facts.webhookId} of “${oneLine(facts.partner)}” is failing`,
    happened:
      'This webhook is failing: no delivery was accepted since then. Deliveries are queued and retried at increasing intervals.',
    facts: [...webhookFacts(facts), ['Failing since', printMoment(new Date(facts.since))]],
    advice: `See why at ${webhookPage(facts, addresses)}/incident and fix the receiver: queued deliveries are then sent automatically. After five days without one success the webhook is disabled.`,
  }),
  'webhook-recovered': (facts, at, addresses) => ({
    environment: facts.environment,
    subject: `Webhook ${facts.webhookId} of “${oneLine(facts.partner)}” works again`,
    happened: 'This webhook, which had been failing, accepts deliveries again.',
    facts: [
      ...webhookFacts(facts),
      ['Had been failing since', printMoment(new Date(facts.since))],
      ['Found working', printMoment(at)],
    ],
    advice: `Queued deliveries are being sent. What failed after all retries can be sent again at ${webhookPage(facts, addresses)}.`,
  }),
  'webhook-disabled': (facts, at, addresses) => ({
    environment: facts.environment,
    subject: `Webhook ${facts.webhookId} of “${oneLine(facts.partner)}” is disabled`,
    happened: 'A webhook was disabled. Nothing is sent to it until somebody resumes it.',
    facts: [...webhookFacts(facts), ['When', printMoment(at)], ['Why', oneLine(facts.reason, 200)]],
    advice: `Fix the receiver and resume the webhook at ${webhookPage(facts, addresses)}. Queued deliveries are then sent.`,
  }),
  'secret-expiring': (facts, _at, addresses) =>
    'webhookId' in facts ? endingSigningSecret(facts, addresses) : endingClientSecret(facts, addresses),
  alerts: digestWords,
  'partner-decided': ({ partner, branchId, status, reason }, at, addresses) => ({
    environment: 'live',
    subject: `${decisionWords[status].subject} “${oneLine(partner)}”`,
    happened: decisionWords[status].happened,
    facts: [
      ['Partner', `“${oneLine(partner)}”`],
      ['When', printMoment(at)],
      ...(reason === null ? [] : [['Reason', oneLine(reason, 200)] as const]),
    ],
    advice: `${decisionWords[status].advice} ${addresses.live}/partner/${branchId} has the whole answer, and is where you can write to the brokerage.`,
  }),
  'client-profile': (
    { partner, branchId, environment, clientId, client, from, endsBearers, hasSecret },
    at,
    addresses,
  ) => ({
    environment,
    subject:
      from === null
        ? `“${oneLine(client)}” has the standard profile again`
        : `FAPI 2.0 for “${oneLine(client)}” from ${printMoment(new Date(from))} on`,
    happened:
      from === null
        ? `The brokerage no longer demands FAPI 2.0 of this application. ${hasSecret ? 'Its client secrets count again.' : 'It has no client secret: make one in the portal, or go on with its keys.'}`
        : `The brokerage has set from when on FAPI 2.0 is demanded of this application: keys of its own, pushed requests, sender-bound tokens. No client secret counts then, and bearer tokens ${endsBearers ? 'end' : 'live out their 24 hours'}.`,
    facts: [
      ['Application', `“${oneLine(client)}” of “${oneLine(partner)}”`],
      ['When', printMoment(at)],
    ],
    advice: `${from === null ? 'More' : 'What is left to do'} is at ${addresses[environment]}/partner/${branchId}/clients/${clientId} after signing in.`,
  }),
  'partner-message': ({ partner, branchId, readBy }, at, addresses) => ({
    environment: 'live',
    subject:
      readBy === 'partner'
        ? `The brokerage wrote to “${oneLine(partner)}”`
        : `“${oneLine(partner)}” wrote to the brokerage`,
    happened: 'There is a new message.',
    facts: [
      ['Partner', `“${oneLine(partner)}”`],
      ['When', printMoment(at)],
    ],
    advice: `Read and answer it at ${addresses.live}/${readBy === 'partner' ? 'partner' : 'console/partners'}/${branchId} after signing in.`,
  }),
  ...resetTellers,
  ...memberTellers,
  ...staffTellers,
}

const decisionWords = {
  approved: {
    subject: 'Approved:',
    happened: 'The brokerage approved your application as a partner.',
    advice: 'You may now register live clients and webhooks.',
  },
  declined: {
    subject: 'Declined:',
    happened: 'The brokerage declined your application as a partner. The sandbox is closed for it.',
    advice: 'You can change the application and apply again.',
  },
  suspended: {
    subject: 'Suspended:',
    happened: 'The brokerage suspended your partner account. Its clients and webhooks have stopped working.',
    advice: 'They work again when the brokerage approves it again.',
  },
} as const

const ofTheHouse: Brands = { live: houseBrand, sandbox: houseBrand }

export function noticeWords<Kind extends NoticeKind>(
  notice: NoticeToSend<Kind>,
  addresses: SiteAddresses,
  vault: Vault,
  brands = ofTheHouse,
): NoticeWords {
  const told = tellers[notice.kind](notice.facts, notice.createdAt, addresses, vault, brands)
  const { subject, happened, facts, advice, notes = [], environment } = told
  const site =
    environment === 'sandbox' ? [['Site', `${addresses.sandbox} (sandbox: no real money)`] as const] : []
  const brand = brands[environment]
  const why = told.isForStranger
    ? 'because somebody entered this address there.'
    : 'where “Security” says which notices come.'
  const letter: Letter = {
    brand,
    greeting: `Hello${notice.name === null ? '' : ` ${oneLine(notice.name)}`},`,
    happened,
    facts: [...facts, ...site],
    paragraphs: [advice, ...notes],
    closing: [
      `Sent by ${brand.name} at ${addresses[environment]} ${why}`,
      'Nobody who writes to you in its name asks for your password, a code or a secret.',
    ],
    own: Object.values(addresses),
  }
  return {
    subject: oneLine(environment === 'sandbox' ? `${subject} (sandbox)` : subject, 200),
    text: printLetter(letter),
    letter,
  }
}

/** What all changes that could hand the account to another person have in common. */
function guarded(
  { byHolder, from, userAgent, former, more }: GuardFacts,
  at: Date,
  addresses: SiteAddresses,
) {
  const notes = [
    ...(more
      ? [
          `There were more than ${noticesADay} of this kind in a day. One message an hour now stands for all of them; “History” lists each.`,
        ]
      : []),
    ...(former
      ? [
          'This was the address of the account until lately. For 30 days it is still told of what concerns your password, second factors, tokens and address.',
        ]
      : []),
  ]
  return {
    environment: 'live',
    facts: [
      ['When', printMoment(at)],
      ['By', byHolder ? 'somebody who was signed in to your account' : 'the brokerage'],
      ...(from === null ? [] : [['From', oneLine(from)] as const]),
      ...(userAgent === null ? [] : [['Device', deviceWords(userAgent)] as const]),
    ],
    advice: byHolder
      ? `If it was you, there is nothing to do. If it was not, somebody else is using your account. Sign in at ${addresses.live} and change your password, sign out every other device, and put right what is not yours under “Security” and “API settings”. If you cannot sign in, call the brokerage at once.`
      : 'If you asked for this, there is nothing to do. If you did not ask for this, call the brokerage.',
    notes,
  } as const satisfies Partial<NoticeText>
}

/** Neither a session nor the brokerage caused it: a person who knows the password did. */
function lockedWords(at: Date, addresses: SiteAddresses) {
  return {
    facts: [
      ['When', printMoment(at)],
      ['By', 'somebody who knows your password'],
    ],
    advice: `If it was you, sign in with a recovery code. If it was not, somebody else knows your password: sign in at ${addresses.live} with a recovery code and change it, or call the brokerage.`,
  } as const satisfies Partial<NoticeText>
}

function factorWords({
  change,
  factor,
}: NoticeFacts['second-factor']): Pick<NoticeText, 'subject' | 'happened'> {
  const name = oneLine(factor ?? '')
  switch (change) {
    case 'added':
      return {
        subject: 'A second factor was added',
        happened: `A second factor was added to your account: ${name}.`,
      }
    case 'removed':
      return {
        subject: 'A second factor was removed',
        happened: `A second factor was removed from your account: ${name}.`,
      }
    case 'locked':
      return {
        subject: 'A second factor was locked',
        happened: `A hundred wrong codes in a row were entered after the right password. Your ${name} is locked until you sign in with a recovery code, or the brokerage resets it.`,
      }
    case 'reset':
      return {
        subject: 'Two-factor sign-in was reset',
        happened:
          'Every second factor and recovery code of your account was removed. Your password alone signs in now.',
      }
  }
}

function listScopes(granted: readonly string[]): string {
  return scopes
    .filter((scope: Scope) => granted.includes(scope))
    .map((scope) => scopeWords[scope].title.toLowerCase())
    .join(', ')
}

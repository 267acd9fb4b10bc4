/**
 * How many characters a user may type into each field, by the path that its form is sent to. Pages print it
 * as `maxlength`, and a form that holds more is refused before anything of it is looked at (web/route.ts).
 */
import type { Form } from '../../http/form.ts'
import type { FieldProblem } from '../../problem.ts'
import { passwordMaxBytes } from '../../users/password.ts'
import { payloads } from '../../webhooks/events/kind.ts'
import { checkedBytesAtMost } from '../../webhooks/signature-debugger/signature-check.ts'
import { noteCharacters } from '../../webhooks/subscriptions/note.ts'
import { secretCharacters } from '../../webhooks/subscriptions/webhook.ts'
import { headerLimits } from '../../webhooks/subscriptions/webhook-headers.ts'

/** A moment, a number or a colour: what browsers send of fields that take nothing else. */
const ofItsKind = 40
const username = 100
const email = 254
const code = 10
const webPage = 500
const credential = { secret: 1_000, 'secret-key': 10_000 }
const provider = {
  label: 100,
  'client-id': 500,
  scopes: 500,
  'strong-acr': 1_000,
  'strong-amr': 1_000,
  'link-claim': 100,
  'link-source': 30,
  'roles-claim': 100,
  role: 5_000,
}
const application = { name: 200, website: 300, contact: 320, purpose: 2_000 }
const client = { name: 100, callback: 2_000 }
const webhook = {
  url: 2_000,
  secret: secretCharacters.most,
  description: noteCharacters,
  rateLimit: ofItsKind,
  headerName: headerLimits.nameCharacters,
  headerSecret: headerLimits.valueCharacters,
}
const selection = { from: ofItsKind, to: ofItsKind, entity: 100 }
const toPartner = { reason: 2_000 }

/** Of every kind that can be simulated; numbers have as many digits as a user needs. */
const payload = Object.fromEntries(
  Object.values(payloads).flatMap(({ properties }) =>
    Object.entries(properties).map(([name, { maxLength = 100 }]: [string, { maxLength?: number }]) => [
      name,
      maxLength,
    ]),
  ),
)

export const fieldLengths = {
  '/login': { username, password: passwordMaxBytes },
  '/login/second': { code, recovery: 40 },
  '/login/forgotten': { username },
  '/login/reset/:token': { password: passwordMaxBytes },
  '/account/api/tokens': { name: 100 },
  '/account/password': { current: passwordMaxBytes, next: passwordMaxBytes, again: passwordMaxBytes },
  '/account/security/app': { code },
  '/account/security/email': { email },
  '/account/security/passkey': { name: 100 },
  '/partner/apply': application,
  '/partner/:branch/apply': application,
  '/partner/:branch/messages/send': { message: 2_000 },
  '/partner/:branch/members/invite': { email },
  '/partner/:branch/clients/create': client,
  '/partner/:branch/clients/:client/update': client,
  '/partner/:branch/clients/:client/scopes': { reason: 2_000 },
  '/partner/:branch/clients/:client/rotate': { switchAt: ofItsKind },
  '/partner/:branch/clients/:client/look/save': {
    purpose: 200,
    website: webPage,
    privacyUrl: webPage,
    termsUrl: webPage,
  },
  '/partner/:branch/clients/refresh': { reason: 2_000 },
  '/partner/:branch/webhooks/create': webhook,
  '/partner/:branch/webhooks/:id/update': webhook,
  '/partner/:branch/webhooks/:id/secret': { secret: webhook.secret, switchAt: ofItsKind },
  '/partner/:branch/webhooks/:id/replay/start': selection,
  '/partner/:branch/webhooks/:id/recover/start': { since: ofItsKind },
  '/partner/:branch/webhooks/:id/skip/start': { reason: noteCharacters },
  '/partner/:branch/deliveries/:id/skip': { reason: noteCharacters },
  '/partner/:branch/test/send': payload,
  '/partner/:branch/signature/check': { headers: 10_000, body: checkedBytesAtMost, computed: 300 },
  '/console/audit/chain/verify': { anchor: 100 },
  '/console/brand/:site/save': {
    ...{ shortName: 40, legalName: 200, helpUrl: webPage, privacyUrl: webPage, termsUrl: webPage },
    ...{
      accentLight: ofItsKind,
      backgroundLight: ofItsKind,
      accentDark: ofItsKind,
      backgroundDark: ofItsKind,
    },
    ...{ securityContact: webPage, phone: 40, mailSender: 320, mailReplyTo: email, mailFooter: 1_000 },
  },
  '/console/partners/:branch/decline': toPartner,
  '/console/partners/:branch/suspend': toPartner,
  '/console/partners/:branch/message': { message: 2_000 },
  '/console/providers/new/create': { ...provider, ...credential, name: 40, issuer: webPage },
  '/console/providers/:provider/change': provider,
  '/console/providers/:provider/credential': credential,
  '/console/users/create': { username, name: 200, email },
  '/console/users/:id/email': { email },
} as const satisfies Record<string, Readonly<Record<string, number>>>

/** What the questions of an address hold, on every page: more is cut off (question.ts, search.ts). */
export const questionCharacters = 300

/** Why an operator does something (ask.ts), whatever they do. */
export const reasonMaxCharacters = 500

/**
 * Values that no user types, but a page prints or a browser makes: as long as the head of a request may be,
 * in which some of it travels.
 */
const untypedMost = 16_384

export function lengthOf(path: string, name: string): number {
  const ofForm: Readonly<Record<string, number>> =
    (fieldLengths as Record<string, Record<string, number>>)[path] ?? {}
  if (Object.hasOwn(ofForm, name)) return ofForm[name]!
  return name === 'reason' ? reasonMaxCharacters : untypedMost
}

/**
 * Each field that holds more than it may. A line break counts once, as browsers count it, which send two
 * characters for it.
 */
export function findLongFields(path: string, form: Form): FieldProblem[] {
  return Object.entries(form).flatMap(([field, values]) => {
    const most = lengthOf(path, field)
    const isLong = [values]
      .flat()
      .some((value) => value.length > most && value.replaceAll('\r\n', '\n').length > most)
    return isLong ? [{ field, problem: `must have at most ${most.toLocaleString('en')} characters` }] : []
  })
}

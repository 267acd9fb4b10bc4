/** The forms of webhooks, of test events and of the built-in receiver. */
import {
  actions as actionsByKind,
  isPublishedKind,
  type Kind,
  kinds,
  type PublishedKind,
  payloads,
} from '../../../webhooks/events/kind.ts'
import { sendLimits } from '../../../webhooks/outbound/send-limit.ts'
import { noteCharacters } from '../../../webhooks/subscriptions/note.ts'
import { secretCharacters } from '../../../webhooks/subscriptions/webhook.ts'
import { headerLimits } from '../../../webhooks/subscriptions/webhook-headers.ts'
import {
  anyTicks,
  asAsked,
  choice,
  type Field,
  key,
  moment,
  mostOfItsKind,
  secret,
  text,
  ticks,
} from '../../frame/field.ts'
import { defineButton, defineForm } from '../../frame/form.ts'
import { html } from '../../frame/html.ts'

export const kindWords: Record<Kind, string> = {
  TRANSACTION: 'Transactions',
  APPLICATION: 'Account applications',
  ACH_PROFILE: 'ACH profiles',
  AUTHORIZATION: 'Account authorizations',
}

const url = text({
  label: 'URL',
  hint: 'https, on a public address. Deliveries are POSTed to it as JSON.',
  most: 2_000,
  type: 'url',
  isRequired: true,
  more: html`placeholder="https://app.example.com/hooks" spellcheck="false"`,
})

const kind = ticks({
  label: 'Events to send',
  of: kinds,
  choices: kinds.map((value) => ({ value, label: kindWords[value] })),
})

const signing = secret({
  label: 'Secret',
  most: secretCharacters.most,
  more: html`autocomplete="new-password" minlength="${secretCharacters.least}" data-generate="whsec_"`,
})

/** Each with its kind, because kinds share actions. */
export function actionsOf(kind: Kind): { value: string; label: string }[] {
  return actionsByKind[kind].map((action) => ({ value: `${kind}.${action}`, label: action }))
}

export const allActions: readonly string[] = kinds.flatMap((each) =>
  actionsOf(each).map(({ value }) => value),
)

const rateLimit = text({
  label: 'Rate limit',
  hint: `Attempts a second, ${sendLimits.least} to ${sendLimits.most}. Empty: no limit. Retries count; what waits is sent in its order.`,
  most: mostOfItsKind,
  type: 'number',
  more: html`min="${sendLimits.least}" max="${sendLimits.most}" inputmode="numeric"`,
})

/** What is sent to a webhook, how fast, and with which headers. */
export const settings = {
  actions: ticks({ label: 'Only some actions', of: allActions }),
  rateLimit,
  description: text({
    label: 'Description',
    hint: 'For you and your colleagues.',
    most: noteCharacters,
  }),
  removeHeader: anyTicks({ label: 'Remove headers' }),
  headerName: text({
    label: 'Add a header: name',
    hint: `Sent with every delivery, ${headerLimits.headers} at most. To replace a value, give its name again.`,
    most: headerLimits.nameCharacters,
    more: html`spellcheck="false" autocomplete="off" placeholder="x-api-key"`,
  }),
  headerSecret: secret({
    label: 'Its value',
    hint: 'Kept sealed and never shown again.',
    most: headerLimits.valueCharacters,
    more: html`autocomplete="new-password"`,
  }),
}

export const createWebhook = defineForm(
  '/partner/:branch/webhooks/create',
  { url, kind, secret: signing, ...settings },
  { makes: true },
)
export const updateWebhook = defineForm('/partner/:branch/webhooks/:id/update', { url, kind, ...settings })
export const rotateSecret = defineForm(
  '/partner/:branch/webhooks/:id/secret',
  {
    secret: { ...signing, isRequired: true },
    switchAt: moment({
      label: 'Signs from',
      hint: 'At most seven days on; at once when empty.',
    }),
  },
  { makes: true },
)
export const pauseWebhook = defineButton('/partner/:branch/webhooks/:id/pause')
export const resumeWebhook = defineButton('/partner/:branch/webhooks/:id/resume')
export const deleteWebhook = defineButton('/partner/:branch/webhooks/:id/delete')
export const probe = defineButton('/partner/:branch/webhooks/:id/incident/probe', { makes: true })

/** Since when a receiver had trouble, as the address of the page asks it. */
export const trouble = {
  since: moment({
    label: 'Trouble since',
    hint: 'What failed after all retries from then on, and was not delivered or skipped since, is sent again.',
    isRequired: true,
  }),
}

export const startRecovery = defineForm(
  '/partner/:branch/webhooks/:id/recover/start',
  { since: asAsked(trouble.since) },
  { makes: true, heldBy: '/partner/:branch/webhooks/:id/recover?since=:since' },
)

export const tryReceiver = defineButton('/partner/:branch/receiver/try', { makes: true })

export interface Property {
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  readonly maxLength?: number
  readonly description?: string
}

/** Of the payload. The kind is chosen beside it. */
export function propertiesOf(kind: PublishedKind): [string, Property][] {
  return Object.entries<Property>(payloads[kind].properties).filter(([name]) => name !== 'type')
}

/** Of every kind that can be simulated; numbers have as many digits as a user needs. */
const payload = kinds
  .filter(isPublishedKind)
  .flatMap(propertiesOf)
  .map(([label, { enum: words, maxLength = 100 }]): [string, Field<string>] => [
    label,
    words ? choice({ label }) : text({ label, most: maxLength }),
  ])

export const sendTestHook = defineForm(
  '/partner/:branch/test/send',
  {
    ...Object.fromEntries(payload),
    type: key(),
    webhook: choice({
      label: 'Send to',
      hint: 'One that is paused or disabled gets it when you resume it.',
    }),
  },
  { makes: true, heldBy: '/partner/:branch/test?kind=:type' },
)

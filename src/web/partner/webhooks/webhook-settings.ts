/** The part of a webhook's form that says what is sent to it, how fast, and with which headers. */
import { actions as allActions, type Kind, kinds } from '../../../webhooks/events/kind.ts'
import { rateLimits } from '../../../webhooks/outbound/send-limit.ts'
import { headerLimits } from '../../../webhooks/subscriptions/webhook-headers.ts'
import type {
  Actions,
  SettingsChange,
  WebhookSettings,
} from '../../../webhooks/subscriptions/webhook-settings.ts'
import { fieldLengths } from '../../frame/field-lengths.ts'
import { type Draft, textField, ticks } from '../../frame/fields.ts'
import type { SubmittedForm } from '../../frame/forms.ts'
import { type Html, html } from '../../frame/html.ts'

export const settingNames = ['actions', 'rateLimit', 'headers', 'description'] as const

export const kindWords: Record<Kind, string> = {
  TRANSACTION: 'Transactions',
  APPLICATION: 'Account applications',
  ACH_PROFILE: 'ACH profiles',
  AUTHORIZATION: 'Account authorizations',
}

/** What of a new webhook's form is ticked. */
export interface WebhookChoices {
  readonly kinds: readonly Kind[]
  readonly actions: Actions
}

/** A page that was loaded before there were settings sends none, and changes none. */
export function readSettings(form: SubmittedForm, wanted: readonly Kind[]): SettingsChange {
  const rate = form.find('rateLimit')?.trim()
  if (rate === undefined) return {}
  const name = form.find('headerName')?.trim() ?? ''
  const removed = form.all('removeHeader').map((each) => [each, null] as const)
  return {
    actions: readActions(form.all('actions'), wanted),
    rateLimit: rate === '' ? null : Number(rate),
    description: form.find('description') ?? '',
    headers: Object.fromEntries([
      ...removed,
      ...(name === '' ? [] : [[name, form.find('headerSecret') ?? '']]),
    ]),
  }
}

/** All of a kind, or none: then it is not narrowed, and has what comes to be later, too. */
function readActions(ticked: readonly string[], wanted: readonly Kind[]): Actions {
  const chosen = wanted.map((kind) => {
    const some = allActions[kind].filter((action) => ticked.includes(`${kind}.${action}`))
    return [kind, some] as const
  })
  return Object.fromEntries(
    chosen.filter(([kind, some]) => some.length > 0 && some.length < allActions[kind].length),
  )
}

/** What was typed into the form, but for secrets. */
export function typedSettings(form: SubmittedForm): Draft['values'] {
  const names = ['url', 'rateLimit', 'description', 'headerName']
  return Object.fromEntries(names.map((name) => [name, form.find(name)]))
}

/**
 * Of a new webhook. Most want none of them: they are folded away, unless one of them was chosen or is wrong.
 */
const lengths = fieldLengths['/partner/:branch/webhooks/create']

export function printUrlField(draft: Draft): Html {
  const hint = 'https, on a public address. Deliveries are POSTed to it as JSON.'
  const more = html`type="url" required maxlength="${lengths.url}" placeholder="https://app.example.com/hooks"
    spellcheck="false"`
  return textField(draft, { name: 'url', label: 'URL', hint, more })
}

export function printSecretField(draft: Draft, hint: string, isRequired: boolean): Html {
  const more = html`type="password" autocomplete="new-password" minlength="8"
    maxlength="${lengths.secret}"${isRequired && html` required`}`
  const libraries =
    'For a Standard Webhooks library, use whsec_ followed by base64; hand any other secret to it as raw UTF-8 bytes.'
  return textField(draft, {
    name: 'secret',
    label: 'Secret',
    hint: `8 to 200 characters. ${hint} ${libraries}`,
    more,
  })
}

export function printMoreSettings(draft: Draft, settings: WebhookSettings): Html {
  const isWrong = draft.problem?.fields?.some(({ field }) =>
    (settingNames as readonly string[]).includes(field),
  )
  const isChosen = ['rateLimit', 'description', 'headerName'].some(
    (name) => (draft.values[name] ?? '') !== '',
  )
  const isOpen = isWrong || isChosen || Object.keys(settings.actions).length > 0
  return html`<details${isOpen && html` open`}><summary>More settings: actions, rate limit, headers,
    description</summary>
${printSettings(draft, settings, [])}</details>`
}

export function printSettings(draft: Draft, webhook: WebhookSettings, headerNames: readonly string[]): Html {
  const { least, most } = rateLimits
  const { description, rateLimit } = webhook
  const values = { description, rateLimit: rateLimit === null ? '' : String(rateLimit), ...draft.values }
  const filled = { ...draft, values }
  const rate = `Attempts a second, ${least} to ${most}. Empty: no limit. Retries count; what waits is sent in its order.`
  const name = `Sent with every delivery, ${headerLimits.headers} at most. To replace a value, give its name again.`
  return html`${printActions(draft, webhook)}
${textField(filled, {
  name: 'rateLimit',
  label: 'Rate limit',
  hint: rate,
  more: html`type="number"
  min="${least}" max="${most}" inputmode="numeric"`,
})}
${textField(filled, { name: 'description', label: 'Description', hint: 'For you and your colleagues.', more: html`maxlength="${lengths.description}"` })}
${
  headerNames.length > 0 &&
  ticks(
    draft,
    { name: 'removeHeader', label: 'Remove headers' },
    headerNames.map((each) => ({ value: each, label: each })),
    [],
  )
}
${printHeaderProblem(draft)}
${textField(filled, { name: 'headerName', label: 'Add a header: name', hint: name, more: html`maxlength="${lengths.headerName}" spellcheck="false" autocomplete="off" placeholder="x-api-key"` })}
${textField({ values: {} }, { name: 'headerSecret', label: 'Its value', hint: 'Kept sealed and never shown again.', more: html`type="password" autocomplete="new-password" maxlength="${lengths.headerSecret}"` })}`
}

function printHeaderProblem({ problem }: Draft): Html | undefined {
  const wrong = problem?.fields?.find(({ field }) => field === 'headers')?.problem
  return wrong === undefined
    ? undefined
    : html`<p class="problem" id="headers-problem">Headers: it ${wrong}.</p>`
}

function printActions(draft: Draft, webhook: WebhookSettings): Html {
  const isTicked = (kind: Kind, action: string) => webhook.actions[kind]?.includes(action) ?? true
  const boxes = kinds.map((kind) => {
    const choices = allActions[kind].map((action) => ({ value: `${kind}.${action}`, label: action }))
    const ticked = allActions[kind]
      .filter((action) => isTicked(kind, action))
      .map((action) => `${kind}.${action}`)
    return ticks(
      { ...draft, problem: undefined },
      { name: 'actions', label: kindWords[kind] },
      choices,
      ticked,
    )
  })
  return html`<details><summary>Only some actions</summary><p class="hint">Of a kind that is sent,
    untick the actions that you do not want.</p>${boxes}</details>`
}

/** The forms of alerts: the same for a partner and for the brokerage, below the page of each. */
import type { AlertKind } from '../../vocabulary/alert-kind.ts'
import { keyNumber, oneOf, secret, text, ticks } from '../frame/field.ts'
import { defineForm } from '../frame/form.ts'
import { html } from '../frame/html.ts'

export const alertKindWords: Readonly<Record<AlertKind, string>> = {
  failing: 'A webhook is failing',
  recovered: 'A webhook works again',
  disabled: 'A webhook was disabled',
  expiring: 'A secret or a credential ends soon',
  lag: 'Deliveries are late',
  provider: 'An identity provider cannot be used',
  audit: 'The audit log is not heard',
}

const waits = {
  '0': 'at once',
  '5': 'after 5 minutes',
  '15': 'after 15 minutes',
  '60': 'after an hour',
  '240': 'after 4 hours',
  '1440': 'after a day',
} as const
type Wait = keyof typeof waits
const waitWords = Object.keys(waits) as Wait[]

export function nameWait(minutes: number): string {
  return waits[String(minutes) as Wait] ?? `after ${minutes} minutes`
}

export function alertForms<Kind extends AlertKind>(page: string, kinds: readonly Kind[]) {
  const what = ticks({
    label: 'Tell of',
    of: kinds,
    choices: kinds.map((value) => ({ value, label: alertKindWords[value] })),
  })
  const wait = oneOf({
    label: 'Tell of failures',
    hint: 'Short failures mend themselves. Everything else is told at once.',
    of: waitWords,
    choices: waitWords.map((value) => ({ value, label: waits[value] })),
  })
  const target = keyNumber()
  const url = text({
    label: 'URL',
    hint: 'https, on a public address: a Slack incoming webhook, or an endpoint of your own.',
    most: 2_000,
    type: 'url',
    isRequired: true,
    more: html`placeholder="https://hooks.slack.com/services/…" spellcheck="false" autocomplete="off"`,
  })
  const code = secret({
    label: 'Code',
    hint: 'Eight digits, POSTed to this address.',
    most: 20,
    type: 'text',
    isRequired: true,
    more: html`inputmode="numeric" autocomplete="one-time-code" spellcheck="false"`,
  })
  return {
    add: defineForm(`${page}/add`, { url, what, wait }, { makes: true }),
    confirm: defineForm(`${page}/confirm`, { target, code }),
    sendCode: defineForm(`${page}/code`, { target }, { makes: true }),
    change: defineForm(`${page}/change`, { target, what, wait }),
    test: defineForm(`${page}/test`, { target }, { makes: true }),
    remove: defineForm(`${page}/remove`, { target }),
  }
}

export type AlertForms = ReturnType<typeof alertForms<AlertKind>>

/**
 * Where alerts go, and what the last of them came to: the same page for a partner and for the brokerage. What an
 * address did not take is told here and nowhere else.
 */
import type { AlertRecord } from '../../alerts/history.ts'
import { type AlertTarget, addressesEach } from '../../alerts/target.ts'
import { hostOf } from '../../notices/alert.ts'
import type { AlertKind } from '../../vocabulary/alert-kind.ts'
import { copySecret } from '../frame/copy.ts'
import { type Content, type Html, html } from '../frame/html.ts'
import { fileRowsAtMost, type List, moment, plain, printList } from '../frame/list.ts'
import type { PageForms } from '../frame/page-forms.ts'
import { badge, type Tone } from '../frame/parts.ts'
import { printFileLink } from '../frame/saved-views.ts'
import { type AlertForms, alertKindWords, nameWait } from './alert-forms.ts'

export interface AlertPage {
  readonly targets: readonly AlertTarget[]
  readonly last: readonly AlertRecord[]
  readonly forms: PageForms
  readonly of: AlertForms
  /** Where the page is. */
  readonly here: string
  /** Whether it may be changed. */
  readonly mayChange: boolean
  /** Who gets the mail. */
  readonly mailGoesTo: Content
  /** What is shown once. */
  readonly secret: { readonly target: AlertTarget; readonly text: string } | undefined
}

export function printAlertPage(page: AlertPage): Html {
  const { targets, secret, mayChange } = page
  const addresses = targets.filter(({ kind }) => kind === 'address')
  return html`${secret && printSecret(secret.target, secret.text)}
${targets.filter(({ kind }) => kind === 'mail').map((target) => printMail(target, page))}
<section class="card" id="addresses"><h2>Addresses</h2>
<p>Alerts are POSTed as JSON with a <code>text</code>, as chats such as Slack take it, and signed as webhooks are.
  They name webhooks and what is wrong, and nothing of account holders or events. At most 20 messages an hour
  are sent; what comes beyond waits and arrives together.</p>
${
  addresses.length === 0
    ? html`<p class="empty">No address has been added.</p>`
    : html`<ul class="tokens">${addresses.map((target) => printAddress(target, page))}</ul>`
}</section>
${mayChange && addresses.length < addressesEach && printAdd(page)}
${printLast(page)}`
}

function printSecret(target: AlertTarget, text: string): Html {
  return html`<section class="card created" role="status"><h2>Signing secret of ${hostOf(target.url ?? '')}</h2>
<p>Copy it now. It is not shown again. Slack needs none; an endpoint of your own checks
  <code>x-webhook-signature</code> with it, or the headers of Standard Webhooks.</p>
${copySecret('the secret', text)}</section>`
}

function printMail(target: AlertTarget, { mailGoesTo, ...page }: AlertPage): Html {
  return html`<section class="card"><h2>E-mail</h2><p>${mailGoesTo}</p>
<p>${printChoice(target)}</p>${page.mayChange && printChange(target, page, 'the e-mail')}</section>`
}

function printChoice({ what, waitMinutes }: AlertTarget): Html {
  if (what.length === 0) return html`Tells of nothing.`
  const waits = what.some((kind) => ['failing', 'lag', 'provider', 'audit'].includes(kind))
  return html`Tells of: ${what.map((kind) => alertKindWords[kind].toLowerCase()).join(', ')}.${
    waits && html` Failures ${nameWait(waitMinutes)}.`
  }`
}

type PageOf = Pick<AlertPage, 'forms' | 'of' | 'mayChange'>

function printChange(target: AlertTarget, { forms, of }: PageOf, name: string): Html {
  const standing = { target: target.id, what: target.what, wait: String(target.waitMinutes) }
  const isOpen = forms.holds(of.change, { standing })
  return html`<details${isOpen && html` open`}><summary>Change<span class="unseen"> ${name}</span></summary>
${forms.print(
  of.change,
  { standing },
  (view) => html`${view.field('what')}${view.field('wait')}${view.button('Save', { of: name })}`,
)}</details>`
}

function printAddress(target: AlertTarget, page: AlertPage): Html {
  const host = hostOf(target.url ?? '')
  const isConfirmed = target.state === 'confirmed'
  const at = { standing: { target: target.id }, of: host }
  const { forms, of, mayChange } = page
  const failed = page.last.find((each) => each.targetId === target.id)
  return html`<li><div><strong class="url">${host}</strong>
  ${isConfirmed ? badge('good', 'confirmed') : badge('wait', 'not confirmed')}<br>
<span class="faint">${printChoice(target)}</span>
${
  failed &&
  failed.outcome !== null &&
  failed.state !== 'sent' &&
  html`<p>The last alert was not taken: ${nameOutcome(failed.outcome)}.</p>`
}</div>
${
  mayChange &&
  html`<div class="acts">${
    isConfirmed
      ? html`${forms.button(of.test, 'Send a test', at)}${printChange(target, page, host)}`
      : html`${forms.print(
          of.confirm,
          { standing: { target: target.id } },
          (view) => html`${view.field('code')}${view.button('Confirm', { of: host, look: 'primary' })}`,
        )}${forms.button(of.sendCode, 'Send a new code', at)}`
  }${forms.ask(of.remove, { ...at, label: 'Remove', text: 'Nothing more is sent there; what waits is dropped.' })}</div>`
}</li>`
}

function printAdd({ forms, of, targets }: AlertPage): Html {
  const mail = targets.find(({ kind }) => kind === 'mail')
  const standing = { what: mail?.what ?? [], wait: '15' }
  return html`<section class="card"><h2>Add an address</h2>
<p>A code is POSTed to it. Enter it here, and alerts begin.</p>
${forms.print(
  of.add,
  { standing },
  (view) =>
    html`${view.field('url')}${view.field('what')}${view.field('wait')}${view.button('Add and send the code')}`,
)}</section>`
}

const states: Readonly<Record<AlertRecord['state'], readonly [Tone, string]>> = {
  sent: ['good', 'sent'],
  waiting: ['wait', 'waiting'],
  'given up': ['bad', 'not sent'],
}

function printLast({ last, targets, here }: AlertPage): Html {
  if (last.length === 0) return html``
  return html`<section class="card" id="last"><h2>Last alerts</h2>
${printFileLink(here)}${printList(
  alertList(targets, async () => last),
  last,
)}</section>`
}

/** What was told, and what came of it. */
export function alertList(
  targets: readonly AlertTarget[],
  read: (most: number) => Promise<readonly AlertRecord[]>,
): List<AlertRecord> {
  const nameOf = ({ targetId }: AlertRecord) => {
    const target = targets.find(({ id }) => id === targetId)
    return target?.kind === 'address' ? hostOf(target.url ?? '') : 'e-mail'
  }
  return {
    name: 'alerts',
    caption: 'The last alerts',
    empty: 'Nothing has been told yet.',
    columns: [
      moment('When (UTC)', ({ createdAt }) => createdAt),
      {
        name: 'What',
        cell: ({ kind, webhookId }) =>
          html`${nameKind(kind)}${webhookId !== null && html` (webhook ${webhookId})`}`,
        text: ({ kind }) => nameKind(kind),
      },
      { name: 'Webhook', text: ({ webhookId }) => webhookId },
      plain('To', nameOf),
      {
        name: 'Outcome',
        cell: ({ state, outcome }) =>
          html`${badge(...states[state])}${
            outcome !== null && state !== 'sent' && html` ${nameOutcome(outcome)}`
          }`,
        text: ({ state }) => states[state][1],
      },
      { name: 'Answer', text: ({ outcome }) => outcome },
    ],
    read: async () => ({ rows: await read(fileRowsAtMost), next: undefined }),
  }
}

function nameKind(kind: AlertKind | 'test' | 'confirmation'): string {
  if (kind === 'test') return 'Test'
  return kind === 'confirmation' ? 'Code' : alertKindWords[kind]
}

const outcomeWords: ReadonlyMap<string, string> = new Map(
  Object.entries({
    timeout: 'no answer within ten seconds',
    dns: 'its name has no address',
    tls: 'its certificate was not accepted',
    connection: 'no connection',
    protocol: 'it does not speak HTTP',
    'forbidden-address': 'its name leads to an address that is not allowed',
    'no-secret': 'its secret cannot be read',
  }),
)

export function nameOutcome(outcome: string): string {
  return outcomeWords.get(outcome) ?? `it answered ${outcome}`
}

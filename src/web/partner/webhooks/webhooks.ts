/** The webhooks of a partner: how they are, and every change to them. */

import type { Sql } from '../../../database/database.ts'
import { defaultKinds, type Kind } from '../../../webhooks/events/kind.ts'
import { readCounts } from '../../../webhooks/health/webhook-counts.ts'
import { getHealth, type WebhookHealth } from '../../../webhooks/health/webhook-health.ts'
import {
  createWebhook as create,
  findSwitches,
  getWebhook,
  hasSigner,
  deleteWebhook as remove,
  rotateWebhookSecret,
  setWebhookState,
  updateWebhook as update,
  type Webhook,
  webhooksPerBranch,
} from '../../../webhooks/subscriptions/webhook.ts'
import { listHeaderNames } from '../../../webhooks/subscriptions/webhook-headers.ts'
import { usualSettings } from '../../../webhooks/subscriptions/webhook-settings.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { Submission } from '../../frame/form.ts'
import { type Html, html } from '../../frame/html.ts'
import { asksForFile, printList, sendListFile } from '../../frame/list.ts'
import { makeOnce } from '../../frame/make-once.ts'
import { printDate } from '../../frame/page.ts'
import { crumbs, facts, printMoment } from '../../frame/parts.ts'
import { printFileLink } from '../../frame/saved-views.ts'
import { idOf, paramsOf, type Visit } from '../../frame/visit.ts'
import { type Member, memberWatcher } from '../../gates/gates.ts'
import { chartScript, periodOf, printCharts } from '../../parts/charts.ts'
import { conditionBadge, describeCondition, printCount } from '../../parts/health-words.ts'
import { settingFacts } from '../../parts/webhook-facts.ts'
import { sendPortal } from '../frame/portal.ts'
import * as forms from './forms.ts'
import { printTroubles } from './troubles.ts'
import { printActs } from './webhook-acts.ts'
import { listWebhooksOf } from './webhook-list.ts'
import { printMoreSettings, printSettings, readSettings, standingSettings } from './webhook-settings.ts'

export async function createWebhook(
  visit: Visit,
  member: Member,
  form: Submission<typeof forms.createWebhook>,
) {
  const { url, secret, kind } = form.values
  const wanted = wantedOf(kind)
  const draft = {
    ...{ url: url.trim(), secret: secret === '' ? undefined : secret, kinds: wanted },
    ...readSettings(form.values, wanted),
  }
  const make = (db: Sql) =>
    create({ ...dependenciesOf(visit), db }, member.branch, undefined, draft, member.act)
  const { path } = await makeOnce(visit.context, member, form, make, (webhook) => pathOf(member, webhook))
  return leadToDone(visit, member, path, { text: 'The webhook is registered.', link: testLink(member) })
}

export async function updateWebhook(
  visit: Visit,
  member: Member,
  { values }: Submission<typeof forms.updateWebhook>,
) {
  const webhook = await webhookOf(visit, member)
  const wanted = wantedOf(values.kind)
  const change = { url: values.url.trim(), kinds: wanted, ...readSettings(values, wanted) }
  await update(dependenciesOf(visit), webhook, change, member.act)
  const link = testLink(member, webhook)
  return leadToDone(visit, member, pathOf(member, webhook), { text: 'The webhook is saved.', link })
}

export async function rotateSecret(
  visit: Visit,
  member: Member,
  form: Submission<typeof forms.rotateSecret>,
) {
  const webhook = await webhookOf(visit, member)
  const { secret, switchAt = member.act.at } = form.values
  const make = (db: Sql) =>
    rotateWebhookSecret({ ...dependenciesOf(visit), db }, webhook, secret, switchAt, member.act)
  const { path } = await makeOnce(visit.context, member, form, make, () => pathOf(member, webhook))
  const link = { path: `${member.home}/signature`, label: 'Check a signature' }
  return leadToDone(visit, member, path, { text: 'The secret is replaced.', link })
}

export const pauseWebhook = stateForm('paused')
export const resumeWebhook = stateForm('active')

const stateWords = {
  paused: 'The webhook is paused: events wait for it.',
  active: 'The webhook is resumed. What failed before waits for its next attempt, or until you try it now.',
}

function stateForm(state: 'active' | 'paused') {
  return async (visit: Visit, member: Member) => {
    const { db } = visit.context
    const webhook = await webhookOf(visit, member)
    const isNew = webhook.state !== state
    if (isNew) await setWebhookState(db, webhook, state, member.act)
    const path = pathOf(member, webhook)
    const undo = { action: `${path}/${state === 'paused' ? 'resume' : 'pause'}` }
    // What another member did is theirs to take back.
    const rest = isNew ? { undo } : { link: { path: `${member.home}/webhooks`, label: 'Webhooks' } }
    return leadToDone(visit, member, path, { text: stateWords[state], ...rest })
  }
}

/** A second click finds it gone already, and that is what was wanted. */
export async function deleteWebhook(visit: Visit, member: Member) {
  const { db } = visit.context
  const webhook = await webhookOf(visit, member)
  await remove(db, webhook, member.act)
  const link = { path: `${member.home}/deliveries`, label: 'Deliveries' }
  return leadToDone(visit, member, `${member.home}/webhooks`, {
    text: `Webhook ${webhook.id} is deleted.`,
    link,
  })
}

export function webhookOf({ context, request }: Visit, { branch }: Member): Promise<Webhook> {
  return getWebhook(context.db, branch, idOf(paramsOf(request).id))
}

function dependenciesOf({ context }: Visit) {
  return { db: context.db, vault: context.vault, policy: context.guard }
}

function pathOf({ home }: Member, { id }: Webhook): string {
  return `${home}/webhooks/${id}`
}

function testLink({ home }: Member, webhook?: Webhook) {
  return { path: `${home}/test${webhook ? `?webhook=${webhook.id}` : ''}`, label: 'Send a test event' }
}

/** Without a kind, all that are usual: a webhook that wants nothing would be none. */
function wantedOf(kinds: readonly Kind[]): readonly Kind[] {
  return kinds.length > 0 ? kinds : defaultKinds
}

export async function showWebhooks(visit: Visit, member: Member) {
  const { db, clock } = visit.context
  const list = await listWebhooksOf(db, member, clock.now())
  if (asksForFile(visit)) return sendListFile(visit, member, memberWatcher(visit, member), list)
  return sendPortal(visit, member, {
    title: 'Webhooks',
    scripts: ['generate.js'],
    section: '/webhooks',
    body: html`<h1>Webhooks</h1>
${list.rows.length > 0 && printFileLink(`${member.home}/webhooks`)}
${printList(list, list.rows)}
${
  member.branch.environment === 'sandbox' &&
  html`<p>No server yet? The
  <a href="${member.home}/receiver">built-in receiver</a> takes events and shows what arrived.</p>`
}
${
  member.isDeveloper &&
  html`<section class="card">
<h2>Register a webhook</h2>
${list.rows.length < webhooksPerBranch ? printRegistration(await hasSigner(db, member.branch), member) : html`<p class="empty">You have ${webhooksPerBranch} webhooks, as many as there may be. Delete one that you no longer need.</p>`}
</section>`
}`,
  })
}

/** Where no client could sign, the webhook brings a secret of its own. */
function printRegistration(canLeaveEmpty: boolean, member: Member): Html {
  const hint = canLeaveEmpty
    ? 'Leave it empty to sign with the secret of your first client.'
    : 'No client of yours has a secret that could sign.'
  const standing = { kind: defaultKinds, ...standingSettings(usualSettings) }
  return member.forms.print(
    forms.createWebhook,
    { standing },
    (view) => html`${view.field('url')}
${view.field('kind')}
${view.field('secret', { hint: secretHint(hint), isRequired: !canLeaveEmpty })}
${printMoreSettings(view)}
${view.button('Register', { look: 'primary' })}`,
  )
}

function secretHint(words: string): string {
  const libraries =
    'For a Standard Webhooks library, use whsec_ followed by base64; hand any other secret to it as raw UTF-8 bytes.'
  return `8 to 200 characters. ${words} ${libraries}`
}

export async function showWebhook(visit: Visit, member: Member) {
  const { db, clock } = visit.context
  const webhook = await getHealth(db, await webhookOf(visit, member), clock.now())
  const headerNames = (await listHeaderNames(db, [webhook])).get(webhook.id)!
  const switchesAt = (await findSwitches(db, [webhook], clock.now())).get(webhook.id)
  const period = periodOf(visit)
  return sendPortal(visit, member, {
    title: `Webhook ${webhook.id}`,
    scripts: [chartScript, 'generate.js'],
    section: '/webhooks',
    body: html`${crumbs([{ path: `${member.home}/webhooks`, label: 'Webhooks' }])}
<h1>Webhook ${webhook.id} ${conditionBadge(webhook)}</h1>
${await printTroubles(db, [webhook], member)}
${printHealth(webhook, headerNames, member)}
${printCharts(await readCounts(db, webhook.id, period, clock.now()), {
  title: 'Attempts',
  ...{ period, here: `${member.home}/webhooks/${webhook.id}`, durations: 'answered' },
  ...{ waiting: webhook.waiting, blocked: webhook.blocked },
})}
${
  member.isDeveloper &&
  html`${printChangeForm(webhook, headerNames, member)}
${printRotationForm(switchesAt, member)}
${printDeleteForm(webhook, member)}`
}`,
  })
}

function printHealth(webhook: WebhookHealth, headerNames: readonly string[], member: Member): Html {
  const deliveries = `${member.home}/deliveries?webhook=${webhook.id}`
  return html`<section class="card">
<p>${describeCondition(webhook)}</p>
${
  webhook.disabledReason !== null &&
  html`<p class="notice error">It was disabled:
  ${webhook.disabledReason}</p>`
}
${facts([
  ['URL', html`<code>${webhook.url}</code>`],
  ...settingFacts(webhook, headerNames),
  ['Failures in a row', webhook.failures > 0 && String(webhook.failures)],
  ['Failing since', webhook.failingSince ? printDate(webhook.failingSince) : undefined],
  ['Waiting', html`<a href="${deliveries}&state=unfinished">${printCount(webhook.waiting)}</a>`],
  [
    'Failed after all retries',
    html`<a href="${deliveries}&state=exhausted">${printCount(webhook.exhausted)}</a>`,
  ],
  ['Created', printDate(webhook.createdAt)],
  ['Changed', printDate(webhook.updatedAt)],
])}
<div class="acts"><a class="button"
  href="${deliveries}">Deliveries</a>${member.isDeveloper && printActs(webhook, member)}</div>
</section>`
}

function printChangeForm(webhook: Webhook, headerNames: readonly string[], member: Member): Html {
  const standing = { url: webhook.url, kind: webhook.kinds, ...standingSettings(webhook) }
  return html`<section class="card"><h2>Change</h2>
${member.forms.print(
  forms.updateWebhook,
  { standing },
  (view) => html`${view.field('url')}
${view.field('kind')}
${printSettings(view, headerNames)}
${view.button('Save', { look: 'primary' })}`,
)}</section>`
}

function printRotationForm(switchesAt: Date | undefined, member: Member): Html {
  const hint = 'Both verify in webhook-signature until a day after the new one has begun to sign.'
  return html`<section class="card"><h2>New secret</h2>
${
  switchesAt &&
  html`<p class="notice">A new secret signs from ${printMoment(switchesAt)}.
  Until then the old one does.</p>`
}
${member.forms.print(
  forms.rotateSecret,
  {},
  (view) => html`${view.field('secret', { hint: secretHint(hint) })}
${view.field('switchAt')}
${view.button('Replace the secret', { look: 'primary' })}`,
)}</section>`
}

function printDeleteForm({ id }: Webhook, member: Member): Html {
  return html`<section class="card"><h2>Delete</h2>
<p>What waits for it is canceled. Its history is no longer shown.</p>
${member.forms.ask(forms.deleteWebhook, {
  ...{ label: 'Delete', of: `webhook ${id}` },
  text: 'It is deleted for good, with what waits for it.',
})}</section>`
}

/** The webhooks of a partner: how they are, and every change to them. */

import type { Sql } from '../../../database/database.ts'
import type { Problem } from '../../../problem.ts'
import { defaultKinds, type Kind, kinds } from '../../../webhooks/events/kind.ts'
import { readFailures } from '../../../webhooks/health/failure.ts'
import { readCounts } from '../../../webhooks/health/webhook-counts.ts'
import { judgeHealth, readHealth, type WebhookHealth } from '../../../webhooks/health/webhook-health.ts'
import {
  createWebhook as create,
  findSwitches,
  getWebhook,
  hasSigner,
  listWebhooks,
  deleteWebhook as remove,
  rotateWebhookSecret,
  setWebhookState,
  updateWebhook as update,
  type Webhook,
  webhooksPerBranch,
} from '../../../webhooks/subscriptions/webhook.ts'
import { listHeaderNames } from '../../../webhooks/subscriptions/webhook-headers.ts'
import { usualSettings } from '../../../webhooks/subscriptions/webhook-settings.ts'
import { askFirst } from '../../frame/ask.ts'
import { type Draft, emptyDraft, findProblem, formNotice, textField, ticks } from '../../frame/fields.ts'
import { leadToDone } from '../../frame/flash-message.ts'
import type { SubmittedForm } from '../../frame/forms.ts'
import { type Html, html } from '../../frame/html.ts'
import { parseMoment } from '../../frame/moment.ts'
import { csrfField, printDate } from '../../frame/page.ts'
import { crumbs, facts, printMoment } from '../../frame/parts.ts'
import { makeOnce, onceField, type SubmissionResult } from '../../frame/submission.ts'
import { idOf, paramsOf, type Visit } from '../../frame/visit.ts'
import type { Member } from '../../gates/gates.ts'
import { chartScript, periodOf, printCharts } from '../../parts/charts.ts'
import { conditionBadge, conditionWords, printCount } from '../../parts/health-words.ts'
import { settingFacts } from '../../parts/webhook-facts.ts'
import { sendPortal } from '../frame/portal.ts'
import { printTroubles } from './troubles.ts'
import { printActs } from './webhook-acts.ts'
import { printWebhooks } from './webhook-list.ts'
import {
  kindWords,
  printMoreSettings,
  printSecretField,
  printSettings,
  printUrlField,
  readSettings,
  settingNames,
  typedSettings,
  type WebhookChoices,
} from './webhook-settings.ts'

export function showWebhooks(visit: Visit, member: Member) {
  return sendWebhooks(visit, member, emptyDraft, defaultKinds)
}

export async function createWebhook(visit: Visit, member: Member, form: SubmittedForm) {
  const { context } = visit
  const read = readDraft(form)
  const draft = { ...read, ...readSettings(form, read.kinds) }
  const make = (db: Sql) =>
    create({ ...dependenciesOf(visit), db }, member.branch, undefined, draft, member.act)
  let result: SubmissionResult<Webhook> | undefined
  const problem = await findProblem(async () => {
    result = await makeOnce(context, member, form, make, (webhook) => pathOf(member, webhook))
  })
  if (problem)
    return sendWebhooks(visit, member, { values: typedSettings(form), problem }, draft.kinds, draft.actions)
  return leadToDone(visit, member, result!.path, {
    text: 'The webhook is registered.',
    link: testLink(member),
  })
}

export async function showWebhook(visit: Visit, member: Member) {
  return sendWebhook(visit, member, await webhookOf(visit, member), emptyDraft, emptyDraft)
}

export async function updateWebhook(visit: Visit, member: Member, form: SubmittedForm) {
  const webhook = await webhookOf(visit, member)
  const { url, kinds: chosen } = readDraft(form)
  const settings = readSettings(form, chosen)
  const problem = await findProblem(() =>
    update(dependenciesOf(visit), webhook, { url, kinds: chosen, ...settings }, member.act),
  )
  if (problem) {
    const shown = { ...webhook, kinds: chosen, actions: settings.actions ?? webhook.actions }
    return sendWebhook(visit, member, webhook, { values: typedSettings(form), problem }, emptyDraft, shown)
  }
  const link = testLink(member, webhook)
  return leadToDone(visit, member, pathOf(member, webhook), { text: 'The webhook is saved.', link })
}

export async function rotateSecret(visit: Visit, member: Member, form: SubmittedForm) {
  const webhook = await webhookOf(visit, member)
  const secret = form.find('secret') ?? ''
  const switchAt = parseMoment(form.find('switchAt'))
  const at = switchAt === 'wrong' ? new Date(0) : (switchAt ?? member.act.at)
  const make = (db: Sql) =>
    rotateWebhookSecret({ ...dependenciesOf(visit), db }, webhook, secret, at, member.act)
  const problem = await findProblem(() =>
    makeOnce(visit.context, member, form, make, () => pathOf(member, webhook)),
  )
  const values = { switchAt: form.find('switchAt') }
  if (problem) return sendWebhook(visit, member, webhook, emptyDraft, { values, problem })
  const link = { path: `${member.home}/signature`, label: 'Check a signature' }
  return leadToDone(visit, member, pathOf(member, webhook), { text: 'The secret is replaced.', link })
}

export const pauseWebhook = stateForm('paused')
export const resumeWebhook = stateForm('active')

const stateWords = {
  paused: 'The webhook is paused: events wait for it.',
  active: 'The webhook is resumed: what waited goes out.',
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
function readDraft(form: SubmittedForm) {
  const chosen = kinds.filter((kind) => form.all('kind').includes(kind))
  const secret = form.find('secret') ?? ''
  return {
    url: form.find('url')?.trim() ?? '',
    secret: secret === '' ? undefined : secret,
    kinds: chosen.length > 0 ? chosen : defaultKinds,
  }
}

const kindChoices = kinds.map((kind) => ({ value: kind, label: kindWords[kind] }))

async function sendWebhooks(
  visit: Visit,
  member: Member,
  draft: Draft,
  chosen: readonly Kind[],
  actions = {},
) {
  const { db } = visit.context
  const webhooks = await listWebhooks(db, member.branch, 0, webhooksPerBranch)
  const health = await readHealth(db, webhooks)
  return sendPortal(visit, member, {
    title: 'Webhooks',
    section: '/webhooks',
    status: draft.problem?.status ?? 200,
    body: html`<h1>Webhooks</h1>
${
  webhooks.length === 0
    ? html`<p class="card empty">No webhook is registered here
  yet.</p>`
    : printWebhooks(webhooks, health, await readFailures(db, webhooks), member)
}
${
  member.branch.environment === 'sandbox' &&
  html`<p>No server yet? The
  <a href="${member.home}/receiver">built-in receiver</a> takes events and shows what arrived.</p>`
}
${
  member.isDeveloper &&
  html`<section class="card">
<h2>Register a webhook</h2>
${webhooks.length < webhooksPerBranch ? printRegistration(draft, { kinds: chosen, actions }, await hasSigner(db, member.branch), member) : html`<p class="empty">You have ${webhooksPerBranch} webhooks, as many as there may be. Delete one that you no longer need.</p>`}
</section>`
}`,
  })
}

/** Where no client could sign, the webhook brings a secret of its own. */
function printRegistration(
  draft: Draft,
  choices: WebhookChoices,
  canLeaveEmpty: boolean,
  member: Member,
): Html {
  const hint = canLeaveEmpty
    ? 'Leave it empty to sign with the secret of your first client.'
    : 'You have no client yet whose secret could sign.'
  return html`${formNotice(draft, 'url', 'secret', ...settingNames)}
<form method="post" action="${member.home}/webhooks/create">
${csrfField(member.csrf)}${onceField()}
${printUrlField(draft)}
${ticks(draft, { name: 'kind', label: 'Events to send' }, kindChoices, choices.kinds)}
${printSecretField(draft, hint, !canLeaveEmpty)}
${printMoreSettings(draft, { ...usualSettings, actions: choices.actions })}
<button class="primary">Register</button>
</form>`
}

/** `chosen`: what the form shows, where it was sent with something wrong in it. */
async function sendWebhook(
  visit: Visit,
  member: Member,
  webhook: Webhook,
  draft: Draft,
  rotation: Draft,
  chosen = webhook,
) {
  const { db, clock } = visit.context
  const health = (await readHealth(db, [webhook])).get(webhook.id)
  const headerNames = (await listHeaderNames(db, [webhook])).get(webhook.id)!
  const switchesAt = (await findSwitches(db, [webhook], clock.now())).get(webhook.id)
  const period = periodOf(visit.request)
  const problem: Problem | undefined = draft.problem ?? rotation.problem
  return sendPortal(visit, member, {
    title: `Webhook ${webhook.id}`,
    scripts: [chartScript],
    section: '/webhooks',
    status: problem?.status ?? 200,
    body: html`${crumbs([{ path: `${member.home}/webhooks`, label: 'Webhooks' }])}
<h1>Webhook ${webhook.id} ${conditionBadge(judgeHealth(webhook, health))}</h1>
${await printTroubles(db, [webhook], new Map(health && [[webhook.id, health]]), member.home)}
${printHealth(webhook, headerNames, health, member)}
${printCharts(await readCounts(db, webhook.id, period, clock.now()), {
  title: 'Attempts',
  ...{ period, here: `${member.home}/webhooks/${webhook.id}`, durations: 'answered' },
  ...{ waiting: health?.waiting ?? 0, blocked: health?.blocked ?? 0 },
})}
${
  member.isDeveloper &&
  html`${printChangeForm(chosen, headerNames, draft, member)}
${printRotationForm(webhook, rotation, switchesAt, member)}
${printDeleteForm(webhook, member)}`
}`,
  })
}

function printHealth(
  webhook: Webhook,
  headerNames: readonly string[],
  health: WebhookHealth | undefined,
  member: Member,
): Html {
  const condition = judgeHealth(webhook, health)
  const deliveries = `${member.home}/deliveries?webhook=${webhook.id}`
  return html`<section class="card">
<p>${conditionWords[condition]}</p>
${
  webhook.disabledReason !== null &&
  html`<p class="notice error">It was disabled:
  ${webhook.disabledReason}</p>`
}
${facts([
  ['URL', html`<code>${webhook.url}</code>`],
  ...settingFacts(webhook, headerNames),
  ['Failures in a row', health && health.failures > 0 && String(health.failures)],
  ['Failing since', health?.failingSince ? printDate(health.failingSince) : undefined],
  ['Waiting', html`<a href="${deliveries}&state=unfinished">${printCount(health?.waiting ?? 0)}</a>`],
  [
    'Failed after all retries',
    html`<a href="${deliveries}&state=exhausted">${printCount(health?.exhausted ?? 0)}</a>`,
  ],
  ['Created', printDate(webhook.createdAt)],
  ['Changed', printDate(webhook.updatedAt)],
])}
<div class="acts"><a class="button"
  href="${deliveries}">Deliveries</a>${member.isDeveloper && printActs(webhook, health, member)}</div>
</section>`
}

function printChangeForm(
  webhook: Webhook,
  headerNames: readonly string[],
  draft: Draft,
  member: Member,
): Html {
  const values = { url: webhook.url, ...draft.values }
  return html`<section class="card"><h2>Change</h2>
${formNotice(draft, 'url', ...settingNames)}
<form method="post" action="${member.home}/webhooks/${webhook.id}/update">${csrfField(member.csrf)}
${printUrlField({ ...draft, values })}
${ticks(draft, { name: 'kind', label: 'Events to send' }, kindChoices, webhook.kinds)}
${printSettings({ ...draft, values: draft.values }, webhook, headerNames)}
<button class="primary">Save</button></form></section>`
}

function printRotationForm(
  webhook: Webhook,
  draft: Draft,
  switchesAt: Date | undefined,
  member: Member,
): Html {
  const hint = 'Both verify in webhook-signature until a day after the new one has begun to sign.'
  return html`<section class="card"><h2>New secret</h2>
${
  switchesAt &&
  html`<p class="notice">A new secret signs from ${printMoment(switchesAt)}.
  Until then the old one does.</p>`
}
${formNotice(draft, 'secret', 'switchAt')}
<form method="post" action="${member.home}/webhooks/${webhook.id}/secret">${csrfField(member.csrf)}${onceField()}
${printSecretField(draft, hint, true)}
${textField(draft, { name: 'switchAt', label: 'Signs from (UTC)', hint: 'At most seven days on; at once when empty.', more: html`type="datetime-local"` })}
<button class="primary">Replace the secret</button></form></section>`
}

function printDeleteForm(webhook: Webhook, member: Member): Html {
  return html`<section class="card"><h2>Delete</h2>
<p>What waits for it is canceled. Its history is no longer shown.</p>
${askFirst({ action: `${member.home}/webhooks/${webhook.id}/delete`, csrf: member.csrf, label: 'Delete', of: `webhook ${webhook.id}`, text: 'It is deleted for good, with what waits for it.' })}</section>`
}

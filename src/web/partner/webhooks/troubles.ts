/** The partner's webhooks that fail, each with its reason, where a member looks first. */
import type { Sql } from '../../../database/database.ts'
import { isFailing, isUnsettled } from '../../../webhooks/health/condition.ts'
import type { BranchFailure } from '../../../webhooks/health/failing-webhooks.ts'
import { readFailures } from '../../../webhooks/health/failure.ts'
import type { WebhookHealth } from '../../../webhooks/health/webhook-health.ts'
import { type Html, html } from '../../frame/html.ts'
import type { Member } from '../../gates/gates.ts'
import { printReason, printTrouble } from '../../parts/failure-words.ts'
import { conditionBadge, describeCondition, printCount } from '../../parts/health-words.ts'
import { printTryNow } from './webhook-acts.ts'

/** More than these are on the list of webhooks. */
const shown = 5

export async function printTroubles(
  sql: Sql,
  webhooks: readonly WebhookHealth[],
  member: Member,
): Promise<Html> {
  const { home } = member
  const failing = webhooks.filter(({ condition }) => isFailing(condition))
  const unsettled = webhooks.filter(({ condition }) => isUnsettled(condition))
  const failures = await readFailures(sql, failing.slice(0, shown))
  const cards = failing.slice(0, shown).map((webhook) => {
    const what = html`${webhook.url} ${conditionBadge(webhook)}`
    return printTrouble(what, failures.get(webhook.id), `${home}/webhooks/${webhook.id}/incident`)
  })
  return html`${cards}${unsettled.slice(0, shown).map((webhook) => printUnsettled(webhook, member))}${
    failing.length > shown &&
    html`<p><a href="${home}/webhooks">${failing.length - shown}
    more fail</a></p>`
  }`
}

/** It does not fail, and what failed before still waits: one click tries it. */
function printUnsettled(webhook: WebhookHealth, member: Member): Html {
  const { waiting, url } = webhook
  return html`<section class="card trouble"><h2>${url} ${conditionBadge(webhook)}</h2>
<p><strong>${printCount(waiting)}</strong> ${waiting === 1 ? 'delivery is' : 'deliveries are'} queued.
  ${describeCondition(webhook)}</p>
${printTryNow(webhook, member)}</section>`
}

/** In the list of a member's partners, in a few words each; `failing` are the first of them. */
export function printTroublesBriefly(failing: readonly BranchFailure[], home: string): Html {
  const items = failing.map(
    ({ webhook, last }) =>
      html`<li>${conditionBadge(webhook)}
        ${webhook.url}<br>${printReason(last, `${home}/webhooks/${webhook.id}/incident`)}</li>`,
  )
  const more = (failing[0]?.total ?? 0) - failing.length
  return html`<ul>${items}${more > 0 && html`<li><a href="${home}/webhooks">and ${more} more</a></li>`}</ul>`
}

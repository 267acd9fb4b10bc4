/** The partner's webhooks that fail, each with its reason, where a member looks first. */
import type { Sql } from '../../../database/database.ts'
import type { BranchFailure } from '../../../webhooks/health/failing-webhooks.ts'
import { readFailures } from '../../../webhooks/health/failure.ts'
import { judgeHealth, type WebhookHealth } from '../../../webhooks/health/webhook-health.ts'
import type { Webhook } from '../../../webhooks/subscriptions/webhook.ts'
import { type Html, html } from '../../frame/html.ts'
import { isFailing, printReason, printTrouble } from '../../parts/failure-words.ts'
import { conditionBadge } from '../../parts/health-words.ts'

/** More than these are on the list of webhooks. */
const shown = 5

export async function printTroubles(
  sql: Sql,
  webhooks: readonly Webhook[],
  health: ReadonlyMap<number, WebhookHealth>,
  home: string,
): Promise<Html> {
  const conditionOf = (webhook: Webhook) => judgeHealth(webhook, health.get(webhook.id))
  const failing = webhooks.filter((webhook) => isFailing(conditionOf(webhook)))
  const failures = await readFailures(sql, failing.slice(0, shown))
  const cards = failing.slice(0, shown).map((webhook) => {
    const what = html`${webhook.url} ${conditionBadge(conditionOf(webhook))}`
    return printTrouble(what, failures.get(webhook.id), `${home}/webhooks/${webhook.id}/incident`)
  })
  return html`${cards}${
    failing.length > shown &&
    html`<p><a href="${home}/webhooks">${failing.length - shown}
    more fail</a></p>`
  }`
}

/** In the list of a member's partners, in a few words each; `failing` are the first of them. */
export function printTroublesBriefly(failing: readonly BranchFailure[], home: string): Html {
  const items = failing.map(
    ({ webhook, condition, last }) =>
      html`<li>${conditionBadge(condition)}
        ${webhook.url}<br>${printReason(last, `${home}/webhooks/${webhook.id}/incident`)}</li>`,
  )
  const more = (failing[0]?.total ?? 0) - failing.length
  return html`<ul>${items}${more > 0 && html`<li><a href="${home}/webhooks">and ${more} more</a></li>`}</ul>`
}

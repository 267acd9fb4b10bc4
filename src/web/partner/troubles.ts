/** The partner's webhooks that fail, each with its reason, where a member looks first. */
import type { Sql } from '../../database/database.ts'
import { readFailures } from '../../webhooks/failure.ts'
import type { Webhook } from '../../webhooks/webhook.ts'
import { judgeHealth, type WebhookHealth } from '../../webhooks/webhook-health.ts'
import { isFailing, printTrouble } from '../frame/failure-words.ts'
import { conditionBadge } from '../frame/health-words.ts'
import { type Html, html } from '../frame/html.ts'

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
  return html`${cards}${failing.length > shown && html`<p><a href="${home}/webhooks">${failing.length - shown} more fail</a></p>`}`
}

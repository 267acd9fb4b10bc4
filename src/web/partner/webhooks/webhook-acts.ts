/** What a developer can do with a webhook as it stands, beside changing it. */

import type { WebhookHealth } from '../../../webhooks/health/webhook-health.ts'
import type { Webhook } from '../../../webhooks/subscriptions/webhook.ts'
import { type Html, html } from '../../frame/html.ts'
import { csrfField } from '../../frame/page.ts'
import type { Member } from '../../gates/gates.ts'

export function printActs(webhook: Webhook, health: WebhookHealth | undefined, member: Member): Html {
  const here = `${member.home}/webhooks/${webhook.id}`
  return html`<a class="button" href="${member.home}/test?webhook=${webhook.id}">Send a test event</a><a
    class="button" href="${here}/replay">Replay deliveries…</a><a class="button"
    href="${here}/recover">Recover…</a>
${(health?.waiting ?? 0) > 0 && html`<a class="button" href="${here}/skip">Skip queued deliveries…</a>`}
${webhook.state === 'active' ? actButton(`${here}/pause`, 'Pause', member) : actButton(`${here}/resume`, 'Resume', member)}`
}

export function actButton(action: string, label: string, { csrf }: Member): Html {
  return html`<form method="post" action="${action}">${csrfField(csrf)}<button>${label}</button></form>`
}

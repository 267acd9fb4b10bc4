/** What a developer can do with a webhook as it stands, beside changing it. */

import type { WebhookHealth } from '../../../webhooks/health/webhook-health.ts'
import type { Webhook } from '../../../webhooks/subscriptions/webhook.ts'
import { type Html, html } from '../../frame/html.ts'
import type { Member } from '../../gates/gates.ts'
import * as forms from './forms.ts'

export function printActs(webhook: Webhook, health: WebhookHealth | undefined, member: Member): Html {
  const here = `${member.home}/webhooks/${webhook.id}`
  return html`<a class="button" href="${member.home}/test?webhook=${webhook.id}">Send a test event</a><a
    class="button" href="${here}/replay">Replay deliveries…</a><a class="button"
    href="${here}/recover">Recover…</a>
${(health?.waiting ?? 0) > 0 && html`<a class="button" href="${here}/skip">Skip queued deliveries…</a>`}
${printStateButton(webhook, member)}`
}

export function printStateButton({ id, state }: Webhook, member: Member): Html {
  return state === 'active'
    ? member.forms.button(forms.pauseWebhook, 'Pause', { at: { id } })
    : member.forms.button(forms.resumeWebhook, 'Resume', { at: { id } })
}

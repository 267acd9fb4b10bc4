/** What a developer can do with a webhook as it stands, beside changing it. */

import type { LaneHealth } from '../../../webhooks/health/lane-health.ts'
import type { WebhookHealth } from '../../../webhooks/health/webhook-health.ts'
import type { Webhook } from '../../../webhooks/subscriptions/webhook.ts'
import { type Html, html } from '../../frame/html.ts'
import type { Member } from '../../gates/gates.ts'
import { printCount } from '../../parts/health-words.ts'
import * as forms from './forms.ts'

/**
 * One click after something was mended: what waits is tried now, and what was given up since the trouble began
 * is sent again. Of what is paused the owner resumes it first.
 */
export function printTryNow(webhook: WebhookHealth | LaneHealth, member: Member): Html | undefined {
  const { id, state, condition, troubleSince, dueAt } = webhook
  if (!member.isDeveloper || state === 'paused' || condition === 'held') return undefined
  if (dueAt === null && troubleSince === null) return undefined
  const since = `${(troubleSince ?? member.act.at).toISOString().slice(0, 19)}Z`
  const label =
    'waiting' in webhook && webhook.waiting > 0 ? `Try ${printCount(webhook.waiting)} now` : 'Try now'
  return member.forms.button(forms.startRecovery, label, {
    at: { id },
    standing: { since },
    buttonLook: 'primary',
  })
}

export function printActs(webhook: WebhookHealth, member: Member): Html {
  const here = `${member.home}/webhooks/${webhook.id}`
  return html`${printTryNow(webhook, member)}<a class="button" href="${member.home}/test?webhook=${webhook.id}">Send a test event</a><a
    class="button" href="${here}/replay">Replay deliveries…</a><a class="button"
    href="${here}/recover">Recover…</a>
${webhook.waiting > 0 && html`<a class="button" href="${here}/skip">Skip queued deliveries…</a>`}
${printStateButton(webhook, member)}`
}

export function printStateButton({ id, state }: Webhook, member: Member): Html {
  return state === 'active'
    ? member.forms.button(forms.pauseWebhook, 'Pause', { at: { id } })
    : member.forms.button(forms.resumeWebhook, 'Resume', { at: { id } })
}

/**
 * What a webhook is sent, how fast and with which headers, for users who may look at it. The values of its
 * headers are never shown.
 */
import type { Webhook } from '../../webhooks/subscriptions/webhook.ts'

type Settings = Pick<Webhook, 'actions' | 'description' | 'kinds' | 'rateLimit'>

export function settingFacts(webhook: Settings, headerNames: readonly string[]): [string, string | false][] {
  const { kinds, actions, rateLimit, description } = webhook
  const wanted = kinds.map((kind) => (actions[kind] ? `${kind} (only ${actions[kind].join(', ')})` : kind))
  return [
    ['Description', description !== '' && description],
    ['Events to send', wanted.join(', ')],
    ['Rate limit', rateLimit !== null && `${rateLimit} attempts a second`],
    ['Headers', headerNames.length > 0 && headerNames.join(', ')],
  ]
}

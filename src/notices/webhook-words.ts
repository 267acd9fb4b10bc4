/** What all notices of a webhook have in common. */
import type { SiteAddresses } from '../vocabulary/environment.ts'
import type { NoticeFacts } from './facts.ts'
import { oneLine } from './message.ts'

type AboutWebhook = Pick<
  NoticeFacts['webhook-disabled'],
  'environment' | 'partner' | 'branchId' | 'webhookId' | 'url'
>

export function webhookFacts({ webhookId, partner, url }: AboutWebhook) {
  const host = URL.canParse(url) ? new URL(url).host : 'an address that cannot be read'
  return [
    ['Webhook', `${webhookId}, at ${oneLine(host)}`],
    ['Partner', `“${oneLine(partner)}”`],
  ] as const
}

export function webhookPage(
  { environment, branchId, webhookId }: AboutWebhook,
  addresses: SiteAddresses,
): string {
  return `${addresses[environment]}/partner/${branchId}/webhooks/${webhookId}`
}

/** Secrets that end: a client's, and those that sign a webhook's deliveries. */
import type { SiteAddresses } from '../vocabulary/environment.ts'
import type { EndingClientSecret, EndingSigningSecret } from './facts.ts'
import { oneLine } from './message.ts'
import { type NoticeText, printMoment } from './notice-text.ts'
import { webhookFacts, webhookPage } from './webhook-words.ts'

export function endingClientSecret(
  { environment, partner, branchId, client, madeAt, endsAt, lastUsedAt }: EndingClientSecret,
  addresses: SiteAddresses,
): NoticeText {
  return {
    environment,
    subject: `A secret of “${oneLine(client)}” ends soon`,
    happened:
      'A client secret that was replaced by a newer one is about to end. Requests that still use it will then be refused.',
    facts: [
      ['Application', `“${oneLine(client)}” of “${oneLine(partner)}”`],
      ['Secret', `the one made on ${printMoment(new Date(madeAt))}`],
      ['Ends', printMoment(new Date(endsAt))],
      ['Last used', lastUsedAt === null ? 'never' : printMoment(new Date(lastUsedAt))],
    ],
    advice: `If it is still in use, give your application the newer secret before that. The page ${addresses[environment]}/partner/${branchId}/clients lists both.`,
  }
}

export function endingSigningSecret(facts: EndingSigningSecret, addresses: SiteAddresses): NoticeText {
  return {
    environment: facts.environment,
    subject: `A signing secret of webhook ${facts.webhookId} of “${oneLine(facts.partner)}” ends soon`,
    happened:
      'A secret that signed the deliveries of this webhook was replaced by a newer one. It is about to end.',
    facts: [...webhookFacts(facts), ['Ends', printMoment(new Date(facts.endsAt))]],
    advice: `Give your receiver the newer secret before that: one that knows only the older refuses deliveries from then on. The page is ${webhookPage(facts, addresses)}.`,
  }
}

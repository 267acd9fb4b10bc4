/**
 * An alert in one line: what happened, and where to look. It goes to addresses outside, such as a channel of a
 * chat: it names webhooks by their number and host, and nothing of a holder, an event or a secret.
 */
import type { AlertKind } from '../vocabulary/alert-kind.ts'
import type { Environment, SiteAddresses } from '../vocabulary/environment.ts'
import type { NoticeFacts } from './facts.ts'
import { oneLine } from './message.ts'
import { printMoment } from './notice-text.ts'

export interface AlertFacts {
  readonly failing: NoticeFacts['webhook-failing']
  readonly recovered: NoticeFacts['webhook-recovered']
  readonly disabled: NoticeFacts['webhook-disabled']
  /** A secret of a client or of a webhook, or what only the brokerage has. */
  readonly expiring: NoticeFacts['secret-expiring'] | EndingThing
  /** Deliveries that are due and do not go out. */
  readonly lag: { readonly since: string; readonly webhooks: number }
  readonly provider: { readonly provider: string; readonly found: string }
  /** The collector of the audit log, which does not hear it. */
  readonly audit: { readonly since: string; readonly collector: string; readonly failure: string | null }
}

interface EndingThing {
  readonly thing: 'certificate' | 'keys' | 'credential'
  readonly found: string
}

export interface Alert<Kind extends AlertKind = AlertKind> {
  readonly kind: Kind
  readonly facts: AlertFacts[Kind]
}

export type AlertReader = 'partner' | 'staff'

interface AlertWords {
  readonly text: string
  readonly link: string
}

type Writer<Kind extends AlertKind> = (
  facts: AlertFacts[Kind],
  addresses: SiteAddresses,
  reader: AlertReader,
) => AlertWords

const writers: { readonly [Kind in AlertKind]: Writer<Kind> } = {
  failing: (facts, addresses, reader) => ({
    text: `Webhook ${nameWebhook(facts)} is failing: no delivery was accepted since ${momentOf(facts.since)}.`,
    link: `${pageOf(facts, addresses, reader)}/incident`,
  }),
  recovered: (facts, addresses, reader) => ({
    text: `Webhook ${nameWebhook(facts)} works again. It had been failing since ${momentOf(facts.since)}.`,
    link: pageOf(facts, addresses, reader),
  }),
  disabled: (facts, addresses, reader) => ({
    text: `Webhook ${nameWebhook(facts)} is disabled: ${oneLine(facts.reason, 200)}. Nothing is sent until it is resumed.`,
    link: pageOf(facts, addresses, reader),
  }),
  expiring: (facts, addresses, reader) => {
    if ('thing' in facts)
      return {
        text: oneLine(facts.found, 300),
        link: `${addresses.live}/console/${facts.thing === 'credential' ? 'credentials' : 'settings'}`,
      }
    if ('webhookId' in facts)
      return {
        text: `A signing secret of webhook ${nameWebhook(facts)} ends on ${momentOf(facts.endsAt)}. A receiver that knows no newer one refuses deliveries from then on.`,
        link: pageOf(facts, addresses, reader),
      }
    const { environment, branchId, client, partner, endsAt } = facts
    return {
      text: `A client secret of “${oneLine(client)}” of “${oneLine(partner)}”${ofSite(environment)} ends on ${momentOf(endsAt)}. Calls that still use it are refused from then on.`,
      link:
        reader === 'partner'
          ? `${addresses[environment]}/partner/${branchId}/clients`
          : `${addresses.live}/console/partners/${branchId}`,
    }
  },
  lag: ({ since, webhooks }, addresses) => ({
    text: `Deliveries are late: ${webhooks === 1 ? 'one webhook has' : `${webhooks} webhooks have`} deliveries due that are not being sent, the first since ${momentOf(since)}.`,
    link: `${addresses.live}/console/webhooks`,
  }),
  provider: ({ found }, addresses) => ({
    text: oneLine(found, 300),
    link: `${addresses.live}/console/providers`,
  }),
  audit: ({ since, collector, failure }, addresses) => ({
    text: `${oneLine(collector, 100)} has not heard the audit log since ${momentOf(since)}${failure === null ? '' : ` (${oneLine(failure, 100)})`}. Nothing is lost; the log waits for it.`,
    link: `${addresses.live}/console/audit`,
  }),
}

export function printAlert<Kind extends AlertKind>(
  { kind, facts }: Alert<Kind>,
  addresses: SiteAddresses,
  reader: AlertReader,
): AlertWords {
  return writers[kind](facts, addresses, reader)
}

interface NamedWebhook {
  readonly environment: Environment
  readonly partner: string
  readonly branchId: number
  readonly webhookId: number
  readonly url: string
}

/** Partners put secrets into the rest of an address. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? oneLine(new URL(url).host) : 'an address that cannot be read'
}

function nameWebhook({ webhookId, url, partner, environment }: NamedWebhook): string {
  return `${webhookId} (${hostOf(url)}) of “${oneLine(partner)}”${ofSite(environment)}`
}

const ofSite = (environment: Environment) => (environment === 'sandbox' ? ' in the sandbox' : '')

function pageOf(
  { environment, branchId, webhookId }: NamedWebhook,
  addresses: SiteAddresses,
  reader: AlertReader,
) {
  return reader === 'partner'
    ? `${addresses[environment]}/partner/${branchId}/webhooks/${webhookId}`
    : `${addresses.live}/console/webhooks/${webhookId}`
}

const momentOf = (text: string) => printMoment(new Date(text))

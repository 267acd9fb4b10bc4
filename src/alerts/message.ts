/**
 * What is POSTed to an address: `text` for chats that take Slack's incoming webhooks, and the same as fields for
 * programs. It is no markup: what could be read as such by a chat is escaped, and `mrkdwn` turns the rest off.
 */
import { type Alert, type AlertReader, hostOf, printAlert } from '../notices/alert.ts'
import { oneLine } from '../notices/message.ts'
import type { SiteAddresses } from '../vocabulary/environment.ts'
import type { ClaimedAlert } from './alerts.sql.ts'

/** What is beyond is counted. */
const listedAtMost = 50

interface MessageContext {
  readonly brokerage: string
  readonly addresses: SiteAddresses
  readonly reader: AlertReader
  codeOf(alertId: number): string
}

export function printBody(alerts: readonly ClaimedAlert[], context: MessageContext): string {
  const listed = alerts.slice(0, listedAtMost).map((alert) => describe(alert, context))
  const more = alerts.length - listed.length
  const lines = listed.map(({ text, link }) => `${escapeMarkup(text)}${link === undefined ? '' : ` ${link}`}`)
  const text =
    lines.length === 1
      ? lines[0]!
      : [
          `${alerts.length} alerts:`,
          ...lines.map((line) => `• ${line}`),
          ...(more > 0 ? [`and ${more} more`] : []),
        ].join('\n')
  return JSON.stringify({
    text,
    mrkdwn: false,
    alerts: listed,
    ...(more > 0 && { more }),
  })
}

interface DescribedAlert {
  readonly id: string
  readonly kind: ClaimedAlert['kind']
  readonly at: number
  readonly text: string
  readonly link?: string
  readonly environment?: string
  readonly partner?: string
  readonly webhookId?: number
  readonly host?: string
  readonly code?: string
}

function describe({ id, kind, facts, createdAt }: ClaimedAlert, context: MessageContext): DescribedAlert {
  const common = { id: `alert_${id}`, kind, at: createdAt.getTime() }
  if (kind === 'test')
    return { ...common, text: `This is a test alert from ${context.brokerage}. Nothing has happened.` }
  if (kind === 'confirmation') {
    const code = context.codeOf(id)
    return {
      ...{ ...common, code },
      text: `The code that confirms this address for alerts from ${context.brokerage} is ${code}. Enter it on the page “Alerts” within an hour. If you do not know of it, ignore it: nothing more is sent here.`,
    }
  }
  const words = printAlert({ kind, facts } as Alert, context.addresses, context.reader)
  return { ...common, ...words, ...fieldsOf(facts) }
}

/** What is safe to pass on of it, for programs. */
function fieldsOf(facts: ClaimedAlert['facts']) {
  return {
    ...('environment' in facts && { environment: facts.environment }),
    ...('partner' in facts && { partner: oneLine(facts.partner) }),
    ...('webhookId' in facts && { webhookId: facts.webhookId, host: hostOf(facts.url) }),
  }
}

/** Slack's three characters: with them gone there is no link, no mention and no channel in others' words. */
function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** What commands about webhooks and deliveries have in common: whose they are, which one is meant, and why something is skipped. */
import { getPartner } from '../partners/partner.ts'
import { usualReason } from '../webhooks/skip.ts'
import { type Branch, getWebhook, type Webhook } from '../webhooks/webhook.ts'
import type { Command, CommandWords, Desk, Option } from './command.ts'
import { parseEnvironment } from './environment.ts'

export const branchOptions: readonly Option[] = [
  { name: 'partner', value: 'NAME|ID', required: true, meaning: 'name or branch id of the partner' },
  { name: 'environment', value: 'live|sandbox', meaning: 'live unless given' },
]

export const reasonOption: Option = { name: 'reason', value: 'TEXT', meaning: 'why, for whoever reads the log later' }

export async function branchOf({ db }: Desk, words: CommandWords): Promise<Branch> {
  const { branchId } = await getPartner(db, words.get('partner'))
  return { branchId, environment: parseEnvironment(words.find('environment')) }
}

export function parseReason(words: CommandWords): string {
  return words.find('reason')?.trim() || usualReason
}

type Row = Record<string, unknown>

export function onWebhook(
  name: string,
  summary: string,
  options: readonly Option[],
  act: (desk: Desk, webhook: Webhook, words: CommandWords) => Promise<Row | Row[]>,
): Command {
  return {
    name,
    needs: 'database',
    summary,
    positionals: ['webhook'],
    options: [...branchOptions, ...options],
    async run(desk, words) {
      const webhook = await getWebhook(desk.db, await branchOf(desk, words), Number(words.positionals[0]) || 0)
      const result = await act(desk, webhook, words)
      if (Array.isArray(result)) desk.print.table(result, 'Nothing found.')
      else desk.print.record(result)
    },
  }
}
